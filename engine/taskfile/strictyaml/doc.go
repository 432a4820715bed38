// Package strictyaml reads YAML that a person wrote and says, with file, line
// and column, everything that is wrong with it.
//
// It reads a small YAML on purpose: no anchors, aliases, merge keys, tags or
// directives, no key twice, no bytes that are not UTF-8, and no nesting past 64
// levels, so that a file means what it looks like and cannot grow in memory. It
// checks shape and nothing else: what a valid file may ask for is its reader's
// question.
package strictyaml
