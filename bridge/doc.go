// Package bridge acts. It is the only package that runs a tool, and so the only
// door from a script to the world.
//
// A call passes the gates in the order of the slice in gates.go; each may only
// narrow what the others allow. Then a person is asked where a gate asks, the
// intent is journalled, the tool runs on one line in door.go, and its output is
// cleaned before anyone sees it.
//
// It does not contain what a tool does once it runs: a tool reaches the world
// through its [Permit], but a Go function that is linked in can ignore that. The
// arrows test keeps the tools that ship here from importing anything else.
package bridge
