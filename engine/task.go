package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

// A Task is what one run is for.
type Task struct {
	Name         string            // of the trace and the reports; lower case, digits and "-"
	Goal         string            // the user's words: what they name, the agent may aim at
	Instructions []string          // extra system text; guides, and names nothing
	Labels       map[string]string // for policies and reports

	// Says is other text of the user, which names destinations as the goal does:
	// parameters, and instructions of a trusted task.
	Says         []string
	Destinations []string // named by the operator
	Identity     []string // the user's own addresses and accounts

	Principal string // who runs it
	Attended  bool   // someone is there to answer
	Leases    []LeaseSpec
	Limits    Limits
	Output    OutputSpec

	Digest   string    // of the task file and what it brings; "" for a task that is not a file
	Box      []string  // what was seen to hold of the box for commands, for the record
	Loosened []string  // settings that are looser than the defaults, for the record
	Inbound  []Inbound // what of the task reads like another's orders, for the record
	Versions map[string]string
}

// Inbound is a text of the task that reads like orders that somebody else put there.
type Inbound struct {
	Setting string   `json:"setting"` // as the task file names it, "goal"
	Score   float64  `json:"score"`   // 0 to 1
	Rules   []string `json:"rules"`
}

// A LeaseSpec is a lease that the task gives itself.
type LeaseSpec struct {
	Tool       string
	Tier       policy.Tier
	Uses       int           // 0 means 50
	TTL        time.Duration // of active time; 0 means 30 minutes
	When       string        // CEL over the call
	ApprovedBy string
}

// Limits end a run as "limit". A zero field means the default, never "no limit",
// unless it says otherwise.
type Limits struct {
	WallTime       time.Duration `json:"wall_time"`       // active time; 30 min
	Steps          int           `json:"steps"`           // replies of the model; 40
	ToolCalls      int           `json:"tool_calls"`      // effects begun; 400
	Tokens         int64         `json:"tokens"`          // in and out; 1,000,000
	IdenticalCalls int           `json:"identical_calls"` // failures in a row of one tool with one set of arguments; 3
	CostUSD        float64       `json:"cost_usd"`        // 0 is no limit
	BytesSent      int64         `json:"bytes_sent"`      // bytes of arguments of tools that send; 0 is no limit

	BytesPerDestination int64 `json:"bytes_per_destination,omitempty"` // the same for each host or other destination; 0 is no limit
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&l.Steps, 40)
	set(&l.ToolCalls, 400)
	set(&l.IdenticalCalls, 3)
	if l.WallTime == 0 {
		l.WallTime = 30 * time.Minute
	}
	if l.Tokens == 0 {
		l.Tokens = 1_000_000
	}
	return l
}

func (l Limits) tokens(u Usage) *LimitError {
	return &LimitError{Limit: "tokens", Of: fmt.Sprint(l.Tokens), Why: fmt.Sprintf("%d were used", u.Input+u.Output)}
}

func (l Limits) cost(u Usage) *LimitError {
	why := fmt.Sprintf("%.4f were spent", u.CostUSD)
	if u.Unknown {
		why = "the model did not say what a reply cost, so the limit could not hold"
	}
	return &LimitError{Limit: "costUsd", Of: fmt.Sprint(l.CostUSD), Why: why}
}

// An OutputSpec says what final must be given.
type OutputSpec struct {
	Schema  string // JSON Schema of the value; "" accepts anything
	Retries int    // how often a value that does not match is handed back; 0 means 2, -1 never
}

// compiled is the schema ready for use, nil for none.
func (o OutputSpec) compiled() (*jsonschema.Resolved, error) {
	if o.Schema == "" {
		return nil, nil
	}
	if err := bridge.CheckSchema([]byte(o.Schema)); err != nil {
		return nil, fmt.Errorf("engine: output schema: %w", err)
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON([]byte(o.Schema)); err != nil {
		return nil, fmt.Errorf("engine: output schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("engine: output schema: %w", err)
	}
	return r, nil
}

// validator checks the value of final against the schema.
func validator(o OutputSpec) (func(any) error, error) {
	schema, err := o.compiled()
	if err != nil {
		return nil, err
	}
	return func(v any) error {
		if schema == nil {
			return nil
		}
		// What is checked is the JSON that the caller gets: the library does not know
		// big integers and bytes.
		text, err := plain.JSON(v)
		if err != nil {
			return err
		}
		var data any
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			return err
		}
		return schema.Validate(data)
	}, nil
}

func (o OutputSpec) retries() int {
	switch {
	case o.Retries == 0:
		return 2
	case o.Retries < 0:
		return 0
	}
	return o.Retries
}

// check returns everything that is wrong with t.
func (t Task) check() error {
	var errs *multierror.Error
	if t.Name == "" || t.Goal == "" {
		errs = multierror.Append(errs, errors.New("engine: a task needs a name and a goal"))
	}
	l := t.Limits
	if l.WallTime < 0 || l.Steps < 0 || l.ToolCalls < 0 || l.Tokens < 0 || l.IdenticalCalls < 0 || l.CostUSD < 0 || l.BytesSent < 0 || l.BytesPerDestination < 0 {
		errs = multierror.Append(errs, errors.New("engine: a limit is negative"))
	}
	for i, s := range t.Leases {
		if s.When == "" {
			continue
		}
		if _, err := rules.CompileExpr(s.When, fmt.Sprintf("leases[%d].when", i)); err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	if _, err := t.Output.compiled(); err != nil {
		errs = multierror.Append(errs, err)
	}
	return errs.ErrorOrNil()
}

// leases turns the task's specs into leases that start now.
func (t Task) leases(now time.Time) []leases.Lease {
	var ls []leases.Lease
	for i, s := range t.Leases {
		l := leases.New(fmt.Sprintf("l-task-%d", i+1), s.Tool, s.Tier, now)
		l.When, l.ApprovedBy = s.When, s.ApprovedBy
		if s.Uses > 0 {
			l.Uses = s.Uses
		}
		if s.TTL > 0 {
			l.Expires = now.Add(s.TTL)
		}
		ls = append(ls, l)
	}
	return ls
}
