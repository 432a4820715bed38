// Package policytest runs the tests of policies: cases that say what the rules must
// make of a call, and recorded calls whose decision must not change.
//
// A case stands for a call as somebody imagined it. It proves what the rules say of
// such a call, not that a run would see it like that; and what a trace does not hold
// is never guessed: such a call is reported as unknown.
package policytest
