// Package check judges runs of the chaos suite. Every checker is a pure function
// of a run's history: it has no clock, does no I/O and gives one history one
// answer, so a verdict can be had again from a written history by anybody.
//
// Judge runs them all. Whether what they find is a violation is decided by the
// class of the plan, which follows from the faults that it injects, never by
// what was observed: that would be circular.
package check
