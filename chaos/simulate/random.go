package simulate

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
)

// seedTokens makes crypto/rand, from which clients have their tokens, yield what
// follows from the seed, until restore is called. (testing/cryptotest does the
// same in test binaries only.)
func seedTokens(seed uint64) (restore func()) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	before := cryptorand.Reader
	cryptorand.Reader = &seeded{source: rand.NewChaCha8(key)}
	return func() { cryptorand.Reader = before }
}

type seeded struct {
	mu     sync.Mutex
	source io.Reader // guarded by mu
}

func (s *seeded) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Read(p)
}
