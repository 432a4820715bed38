// Package taskfile reads what people write: task files, mock tools, model
// scripts and the home configuration. It reads and checks; it grants nothing.
//
// A task that loads may still be a stranger's: what it brings along is listed by
// [Task.NeedsTrust] and sealed by [Task.Digest], what it loosens by
// [Task.Loosened], and whoever starts the task must act on all three. Nothing
// here runs a command, resolves a secret or opens a connection.
package taskfile
