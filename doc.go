// Package codeact is the root of an engine for agents that act by writing code: a
// model writes Starlark, the Starlark calls tools, and every call goes through one
// door that decides, records and performs it.
//
// The root holds no code. One verb a package:
//
//	policy judges · leases count · interp computes · bridge acts · engine remembers · cmd talks
//
// A program that embeds the engine starts from package engine/assembly, which turns
// a task file into a run, or from engine.New and bridge.New with tools of its own.
// Its main calls interp.MaybeWorker first: blocks run in a process of their own.
package codeact
