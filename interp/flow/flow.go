// Package flow reads a block before it runs and proves, for the tool calls in it, which earlier calls and which blocks'
// literals each argument and the control flow can depend on. It also bounds the tools that a block can call.
//
// It only proves; what it cannot prove the caller must take for anything (Flow.Proven is false, or the position is not in
// Report.Sites). It does not protect from these:
//   - An error ends a block, and whether or where it does is not counted as a flow to the calls before or after it:
//     of s = secret(); s[5]; send("alive") the last is proven clean. A block so tells at most how many of its calls
//     were made; to count errors would make each call taint all that follows it, which is the floor. An explicit fail,
//     final, return, break or continue is counted, and so is what attempt returns. That a call is not made because its
//     own arguments do not fit is such an error too, also within attempt.
//   - What a tool or the host remembers: note_write(x) and a later note_read() are two calls that know nothing of each
//     other, and a cap or a rate is reached without a flow.
//   - A worker that lies. A position is its claim, so it can pick another proven position of the same tool, or send
//     other arguments. The caller must check the tool and the count; leases and floors must hold without this package.
//   - Time and step counts.
package flow

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Tool is a granted tool as a script sees it.
type Tool struct {
	Name   string
	Params []string // in the order of positional arguments
}

// Limits bound the analysis of one block.
type Limits struct {
	Steps       int // evaluations of a syntax node, and one a 64 sources of a new label; 0 means 50,000
	SourceBytes int // 0 means 64 KiB
}

// Defaults of Limits. The 200-line block of BenchmarkBlock takes 2,000 to 3,000 steps.
const (
	defaultSteps       = 50_000
	defaultSourceBytes = 64 << 10
)

// Report is what is known of a block before it runs.
type Report struct {
	Tools      []string // no other tool can be called: those named in this and in all earlier blocks; sorted
	Unknown    []Name   // names that nothing defines; at most maxUnknown
	Sites      []Site   // empty if OverBudget
	OverBudget bool     // the analysis gave up: nothing is proven, here and of what the block leaves behind
}

// Name is the first use of a name that nothing defines.
type Name struct {
	Name      string
	Line, Col int
	Near      string // a known name of similar spelling, or empty
}

// Site is one tool at one call position. A parallel call is a site for each of its tools.
type Site struct {
	Pos     string // "block:line:col" in this block, "block#2:line:col" in a function of the second
	Tool    string
	InLoop  bool // the block may pass here more than once
	Args    map[string]Flow
	Control Flow              // that the call is made, and how often
	Const   map[string]string // arguments that are always this literal
}

// Flow is what a value, or the fact of a call, can depend on. The zero Flow is: anything.
type Flow struct {
	Proven bool
	Calls  []CallRef // in the order of their discovery
	Blocks []int     // blocks whose literals may have flowed in; for Site.Control also those whose code is running; sorted
}

// CallRef is a call position while a block ran.
type CallRef struct {
	Block int    // the running block, from 1
	Pos   string // as in Site.Pos of that block's report
}

// Analyzer follows the blocks of one run. It is not safe for concurrent use.
type Analyzer struct {
	tools    map[string]Tool
	limits   Limits
	heap     heap
	n        int // number of the last block
	globals  map[string]value
	named    map[string]bool // tools that a block named so far
	last     *walk           // of the last block; nil before the first and after Refused
	unparsed string          // text of the last block, if it was refused here; it may still have run
	before   snapshot
}

// snapshot is what Refused restores. The heap only grows, so that it need not be restored to stay sound.
type snapshot struct {
	n       int
	globals map[string]value
	named   map[string]bool
}

// New returns an analyzer for a run that has these tools and no others.
func New(tools []Tool, limits Limits) *Analyzer {
	if limits.Steps <= 0 {
		limits.Steps = defaultSteps
	}
	if limits.SourceBytes <= 0 {
		limits.SourceBytes = defaultSourceBytes
	}
	a := &Analyzer{tools: map[string]Tool{}, limits: limits, heap: newHeap(), globals: map[string]value{},
		named: map[string]bool{}}
	for _, t := range tools {
		a.tools[t.Name] = t
	}
	return a
}

// dialect must be the worker's, or the two would read different programs.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// Error is a block that the analyzer could not read.
type Error struct {
	Block     int
	Line, Col int // 0 where unknown
	Err       error
}

func (e *Error) Error() string {
	return fmt.Sprintf("flow: block %d:%d:%d: %v", e.Block, e.Line, e.Col, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Block analyses the next block of the run. It numbers the blocks as a worker does that executes each, and supposes that it runs to its end; call Failed if it does not, Refused if
// it does not run at all. With an error the Report still bounds the tools, and the block counts as one that has run and
// may have done anything with what its text names.
func (a *Analyzer) Block(src string) (*Report, error) {
	a.settle()
	a.before = snapshot{a.n, maps.Clone(a.globals), maps.Clone(a.named)}
	a.n++
	a.last = nil
	file, err := a.parse(src)
	if err != nil {
		a.unparsed = src
		for _, word := range words.FindAllString(src, -1) {
			a.name(word)
		}
		return &Report{Tools: a.toolsNamed()}, err
	}
	r := &Report{Unknown: a.survey(file), Tools: a.toolsNamed()}
	w := newWalk(a, file)
	a.last = w
	w.run()
	r.OverBudget = w.over
	if !w.over {
		r.Sites = w.report()
	}
	return r, nil
}

// words finds whatever could be a Starlark identifier.
var words = regexp.MustCompile(`[\pL_][\pL\p{Nd}_]*`)

// settle applies what an unreadable block may have done, now that nobody said that it was refused.
func (a *Analyzer) settle() {
	if a.unparsed == "" {
		return
	}
	a.heap.collapse()
	for _, word := range words.FindAllString(a.unparsed, -1) {
		if !a.reserved(word) {
			a.globals[word] = top
		}
	}
	a.unparsed = ""
}

// Failed says that the last block ended early, for whatever reason. What it may have changed, in part or not at all, is
// then unproven: the names that it binds, except for one that is bound once and outside loops, and the containers that it
// mutates. Everything else keeps its labels. The control flow of later blocks does not depend on the failure: their
// author has seen it, and that is what the label of their literals says.
func (a *Analyzer) Failed() {
	if a.last != nil {
		a.last.fail()
	}
}

// Refused says that the last block did not run, so that its names and values do not count. Counted says that a worker
// had numbered it before refusing it, as it does for a static fault; a block that was never sent is not counted.
// It must not be said of a block in which a call was seen.
func (a *Analyzer) Refused(counted bool) {
	if a.before.globals == nil {
		return
	}
	n := a.n
	a.n, a.globals, a.named = a.before.n, maps.Clone(a.before.globals), maps.Clone(a.before.named)
	if counted {
		a.n = n
	}
	a.last, a.unparsed = nil, ""
}

// parse reads and resolves src as the worker does. The libraries read hostile text here, so that a panic of theirs is an
// error; their recursion is bounded by SourceBytes.
func (a *Analyzer) parse(src string) (file *syntax.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, &Error{Block: a.n, Err: fmt.Errorf("the parser gave up: %v", p)}
		}
	}()
	if len(src) > a.limits.SourceBytes {
		return nil, &Error{Block: a.n, Err: fmt.Errorf("%d bytes, at most %d: write a shorter block", len(src), a.limits.SourceBytes)}
	}
	file, err = dialect.Parse(fmt.Sprintf("block#%d", a.n), src, 0)
	if err != nil {
		return nil, a.located(err)
	}
	// Any unknown name is declared known: the library would take quadratic time to suggest a spelling for each.
	known := func(name string) bool { return !universe[name] }
	global := func(name string) bool { _, ok := a.globals[name]; return ok }
	if err := resolve.REPLChunk(file, global, known, func(name string) bool { return universe[name] }); err != nil {
		return nil, a.located(err)
	}
	return file, a.refuse(file)
}

// located gives a library's error the position of its first fault.
func (a *Analyzer) located(err error) error {
	out := &Error{Block: a.n, Err: err}
	var at syntax.Error
	var list resolve.ErrorList
	switch {
	case errors.As(err, &at):
		out.Line, out.Col, out.Err = int(at.Pos.Line), int(at.Pos.Col), errors.New(at.Msg)
	case errors.As(err, &list) && len(list) > 0:
		out.Line, out.Col, out.Err = int(list[0].Pos.Line), int(list[0].Pos.Col), errors.New(list[0].Msg)
	}
	return out
}

func (a *Analyzer) name(word string) {
	if _, ok := a.tools[word]; ok {
		a.named[word] = true
	}
}

func (a *Analyzer) toolsNamed() []string { return slices.Sorted(maps.Keys(a.named)) }

// position spells pos as the worker does while block n runs.
func (a *Analyzer) position(pos syntax.Position) string {
	file := pos.Filename()
	if file == fmt.Sprintf("block#%d", a.n) {
		file = "block"
	}
	return fmt.Sprintf("%s:%d:%d", file, pos.Line, pos.Col)
}
