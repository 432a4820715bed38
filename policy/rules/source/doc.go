// Package source reads YAML files strictly: an unknown key, a value of another type
// or a key that stands there twice is a fault, with its place, an excerpt and what
// was probably meant. All faults of a file come back together.
//
// It reads a subset: no anchors, aliases, merges or tags, and only so many lines and
// levels that the YAML parser stays fast. Files that it refuses may be good YAML.
package source
