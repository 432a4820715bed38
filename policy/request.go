package policy

import "time"

// A Request is everything that a rule may look at. The bridge fills it once a
// call; the gates read it and change nothing.
type Request struct {
	Call      string // "run/step/n"
	Tool      ToolView
	Args      map[string]any // plain data: nil, bool, int64, *big.Int, float64, string, []byte, []any, map[string]any
	ArgsBytes int            // size of Args as canonical JSON

	// Facts, computed by the bridge from the parameters that the tool names.
	Paths []PathFact
	URLs  []URLFact
	Shell *ShellFact // nil unless the tool runs a command

	Held Taint // what every tool returned in this conversation; with Turn the floor
	Turn Taint // what the other calls of the same batch will arm, by their declared capabilities
	Seen Taint // what entered the model's context before it wrote this block

	ArgTaint map[string]ArgTaint // by parameter; a parameter that is missing has the floor
	Control  Taint               // what the control flow up to this call depends on

	Lease   LeaseView
	Run     RunView
	Session SessionView
	Labels  map[string]string // metadata.labels of the task
	Now     time.Time

	Security  Security
	Authority *Authority // what the user and the operator named; nil names nothing
}

// A ToolView is a tool as a rule sees it.
type ToolView struct {
	Name         string
	Server       string // the MCP server, "" for other tools
	Tier         Tier
	Caps         Capabilities
	Labels       []string
	Sandboxed    bool
	Pinned       bool
	Destinations []string // the parameters that say where an effect goes or what it hits
	Params       []string // every parameter, in the declared order
	IDs          []string // parameters marked x-id; one whose name is id, *_id or id_ is one too
}

// A PathFact is one path argument after it was resolved.
type PathFact struct {
	Param    string
	Rel      string // relative to its root, with "/" ; "@name/…" for an extra root
	Abs      string
	Writable bool // inside workspace.writable: the operator named it
	Made     bool // this run wrote it
}

// A URLFact is one URL argument after it was parsed.
type URLFact struct {
	Param    string
	Raw      string
	Scheme   string
	Host     string // lower case, without port, IDNA form
	Port     string
	Path     string
	Userinfo bool
	Err      string // why it could not be parsed; "" otherwise
}

// A ShellFact is what a command line was classified as.
type ShellFact struct {
	Parsed  bool     `json:"parsed"`
	Risk    string   `json:"risk"` // blocked, high, medium, low, unparsed
	Reason  string   `json:"reason,omitempty"`
	Writes  []string `json:"writes,omitempty"`
	Network bool     `json:"network,omitempty"`
}

// An ArgTaint is the label of one argument.
type ArgTaint struct {
	Taint  Taint
	Origin string // user, model or tool
}

// A LeaseView is the lease that would be spent. The zero value is no lease.
type LeaseView struct {
	ID         string
	UsesLeft   int
	Expires    time.Time
	ApprovedBy string
}

// A RunView is the run as a rule sees it.
type RunView struct {
	ID            string
	Mode          string // interactive or unattended
	BytesSent     int64
	CallsThisStep int
	ToolCalls     int
	CostUSD       float64
}

// A SessionView says for whom the run acts.
type SessionView struct {
	ID   string
	User string // the principal
}

// Security is the part of a task's security settings that the pure gates read.
// The zero value is the strictest.
type Security struct {
	Trifecta          Verdict   // Deny (block), Ask or Allow
	SendsAfterPrivate bool      // true lets a send follow private data, the seed's default (its block_sends_after_private is off)
	Precise           bool      // the interlock judges proven labels, and the floor where nothing is proven
	Floor             bool      // named destinations ignore proven labels
	Named             NamedMode // what the destination rule does with a target nobody named
	Attended          bool      // someone is there to answer; else an interlock that asks blocks
}

// A NamedMode says what the destination rule does with a target nobody named.
type NamedMode uint8

// The modes of the destination rule, strictest first.
const (
	NamedDeny NamedMode = iota
	NamedAsk            // the default of a task
	NamedOff
)
