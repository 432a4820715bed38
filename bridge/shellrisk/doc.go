// Package shellrisk classifies a command line: how much harm it could do, which programs it names, which files it says it writes.
//
// The answer is a hint for people and for policies, never the boundary. A shell line is a program, and what a program does cannot
// be told from its text: a script, a build, an unknown program may do anything. What confines a command is the sandbox. So that the
// hint errs to the safe side, low is a short list of programs with flags that only read, and what cannot be read is not guessed at.
//
// Lines are read as bash reads them; where sh would read them otherwise they are unparsed. All functions are pure, and safe for
// concurrent use.
package shellrisk
