//go:build race

package scan_test

// raced: the race detector keeps the compiler from inlining, and so allocates.
const raced = true
