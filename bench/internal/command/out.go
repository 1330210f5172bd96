package command

// defaultOut is the folder of results that nobody means to keep.
const defaultOut = "bench/out"
