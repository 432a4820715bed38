// Package format writes policy files, and tests of policies, in one way: keys in the
// order of the documentation, two spaces a level, comments kept where they belong.
//
// It moves lines and leaves what is in them as it is, so an expression keeps every
// character, and a mapping in braces its order. It proves of each file that it still
// means the same, or refuses.
package format
