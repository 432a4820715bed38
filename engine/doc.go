// Package engine remembers. It runs the loop of one conversation (ask the model,
// run its block, append what happened) and keeps the events from which all else
// is rebuilt: a [Conversation] is the fold of its events and nothing more.
//
// It decides nothing about a call: that is for the bridge. What it must never do
// is act on something that its trace does not hold; when the trace cannot be
// written, the run ends before the next effect.
package engine
