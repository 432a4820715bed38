package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
)

// Why a server is not used.
var (
	// ErrUnpinned: nobody approved the tools of this server yet.
	ErrUnpinned = errors.New("its tools were never approved")

	// ErrDrift: the server, or what it offers, is not what was approved.
	ErrDrift = errors.New("its tools are not what was approved")
)

// maxShown bounds what an error quotes of a server, in bytes.
const maxShown = 2000

// An Error says which server, and which tool of it, failed and why. All that it
// quotes of the server is redacted and made visible.
type Error struct {
	Server string
	Tool   string // "" outside a call
	Err    error
	Stderr string // the end of what the server wrote to its standard error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("mcp: " + e.Server + ": ")
	if e.Tool != "" {
		b.WriteString(e.Tool + ": ")
	}
	b.WriteString(e.Err.Error())
	if e.Stderr != "" {
		b.WriteString("; the server wrote: " + e.Stderr)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// A PinError is ErrUnpinned or ErrDrift, with what a person should look at.
type PinError struct {
	Task    string // as the pins know it
	Server  string
	Changes []Change // what is not as approved; none where the server was not even started
	Err     error    // ErrUnpinned or ErrDrift
}

// Error names the kinds of change and the tools, which are fit to be shown, and
// quotes nothing else of the server.
func (e *PinError) Error() string {
	verb, what := "diff", ""
	if errors.Is(e.Err, ErrUnpinned) {
		verb = "approve"
	} else {
		what = " (" + strings.Join(summary(e.Changes), ", ") + ")"
	}
	return fmt.Sprintf("mcp: %s: %v%s: run \"codeact tools pins %s %s %s\"", e.Server, e.Err, what, verb, e.Task, e.Server)
}

func (e *PinError) Unwrap() error { return e.Err }

// summary names at most eight changes.
func summary(changes []Change) []string {
	var list []string
	for i, c := range changes {
		if i == 8 {
			return append(list, fmt.Sprintf("and %d more", len(changes)-i))
		}
		list = append(list, strings.TrimSpace(string(c.Kind)+" "+scan.Line(c.Tool, 64)))
	}
	return list
}

// lost is an end of a call after which nobody knows what the server did.
func lost(err error) error { return fmt.Errorf("%w: %w", bridge.ErrOutcomeUnknown, err) }

// said is a text of the server as an error: redacted, visible and bounded.
func (c *Config) said(text string) error { return errors.New(c.clean(text)) }

func (c *Config) clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if c.Redact != nil {
		text = c.Redact(text)
	}
	text, _ = scan.HeadTail(scan.Visible(text), maxShown)
	return text
}
