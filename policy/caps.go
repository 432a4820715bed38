package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Flag is one thing that a tool can do.
type Flag uint8

// The four capabilities of the trifecta model.
const (
	PrivateData    Flag = 1 << iota // returns data that the user considers private
	UntrustedInput                  // returns content that a third party can influence
	ExternalSend                    // can move bytes outside the user's control; a GET counts
	Destructive                     // may overwrite or delete

	allFlags = PrivateData | UntrustedInput | ExternalSend | Destructive
)

// flagNames is in the order of the bits, with the names that task files use.
var flagNames = [...]string{"private_data", "untrusted_input", "external_send", "destructive"}

// ParseFlag returns the flag with the name that task files use, as
// "external_send".
func ParseFlag(name string) (Flag, error) {
	for i, n := range flagNames {
		if n == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("policy: capability %q: want one of %s", name, strings.Join(flagNames[:], ", "))
}

// Capabilities is the set of things that a tool declares it can do.
//
// It is a struct, not an integer, so that a flag once declared cannot be masked
// away. The zero value is undeclared and has every flag: a tool that says
// nothing about itself is treated as able to do everything.
type Capabilities struct {
	flags    Flag
	declared bool
}

// Declare returns the set of exactly the given flags. Declare() is the set of a
// tool without effects.
func Declare(flags ...Flag) Capabilities {
	c := Capabilities{declared: true}
	for _, f := range flags {
		c.flags |= f & allFlags
	}
	return c
}

// Has reports whether c has every flag in f. An undeclared set has all of them.
func (c Capabilities) Has(f Flag) bool { return !c.declared || c.flags&f == f }

// Declared reports whether c was made by [Declare], and so is not the zero value.
func (c Capabilities) Declared() bool { return c.declared }

// Union returns the flags of both. There is no way to take a flag away: the
// union with an undeclared set is undeclared.
func (c Capabilities) Union(d Capabilities) Capabilities {
	return Capabilities{flags: c.flags | d.flags, declared: c.declared && d.declared}
}

// Names returns the names of the flags that c has, in the order of the bits;
// all of them for an undeclared set.
func (c Capabilities) Names() []string {
	names := make([]string, 0, len(flagNames))
	for i, n := range flagNames {
		if c.Has(1 << i) {
			names = append(names, n)
		}
	}
	return names
}

// String returns the names joined by "+", "none" for an empty set, or
// "undeclared".
func (c Capabilities) String() string {
	switch {
	case !c.declared:
		return "undeclared"
	case c.flags == 0:
		return "none"
	}
	return strings.Join(c.Names(), "+")
}

// MarshalJSON encodes an undeclared set as null and any other as the list of
// its names, so that the two stay apart in a file.
func (c Capabilities) MarshalJSON() ([]byte, error) {
	if !c.declared {
		return []byte("null"), nil
	}
	return json.Marshal(c.Names())
}

// UnmarshalJSON is the inverse of MarshalJSON. An unknown name is an error.
func (c *Capabilities) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("policy: capabilities: %w", err)
	}
	if names == nil {
		*c = Capabilities{}
		return nil
	}
	d := Declare()
	for _, n := range names {
		f, err := ParseFlag(n)
		if err != nil {
			return err
		}
		d.flags |= f
	}
	*c = d
	return nil
}
