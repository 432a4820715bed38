package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	gopath "path"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// Errors of a Permit.
var (
	errNoFiles   = errors.New("this run has no workspace")
	errNoNetwork = errors.New("this run has no network")
)

// What a Root says that a tool acts on, rather than passes on. errors.Is finds them.
var (
	ErrNotFound   = workspace.ErrNotFound   // there is no such file
	ErrPartial    = workspace.ErrPartial    // a walk left something out; it did all the rest
	ErrNotRegular = workspace.ErrNotRegular // a directory, a pipe, a device
)

// A Permit is leave to perform one call. Only the bridge makes one; the zero
// Permit has no arguments and no handles. It notes what a tool really touched,
// so that a tool cannot forget to say it. It is not safe for concurrent use.
type Permit struct {
	id      string
	key     func() string // computed when a tool asks for it
	args    map[string]any
	now     time.Time
	root    Root
	http    HTTP
	box     *sandbox.Box
	secrets func(name string) (string, error)

	network    bool             // the call reached the network
	sent       map[string]int64 // bytes that commands sent, by host
	unconfined bool             // what ran may write anywhere: no box holds it
	brought    policy.Taint     // what files that were read bring in
	wrote      []Written
}

// Call is the id of the call, as "run/step/n".
func (p *Permit) Call() string { return p.id }

// IdempotencyKey is the same every time this call is tried, for a tool whose
// other side can tell two tries apart.
func (p *Permit) IdempotencyKey() string {
	if p.key == nil {
		return "" // a preview sends nothing
	}
	return p.key()
}

// Now is the time of the call.
func (p *Permit) Now() time.Time { return p.now }

// Arg returns an argument as plain data, nil when it was not given.
func (p *Permit) Arg(name string) any { return p.args[name] }

// Args returns all arguments. The caller must not change them.
func (p *Permit) Args() map[string]any { return p.args }

// String returns a text argument, "" when it was not given.
func (p *Permit) String(name string) string { s, _ := p.args[name].(string); return s }

// Int returns an integer argument, or def when it was not given. A number that is
// out of reach is the nearest one that is not.
func (p *Permit) Int(name string, def int) int {
	switch n := p.args[name].(type) {
	case int64:
		return int(n)
	case float64:
		return int(max(math.MinInt32, min(n, math.MaxInt32)))
	case *big.Int:
		return n.Sign() * math.MaxInt
	}
	return def
}

// Secret returns the value of a secret that the task declares.
func (p *Permit) Secret(name string) (string, error) {
	if p.secrets == nil {
		return "", fmt.Errorf("no secret %s is declared", name)
	}
	return p.secrets(name)
}

// Root is the handle to the run's files.
func (p *Permit) Root() *Root { p.root.p = p; return &p.root }

// HTTP is the handle to the network.
func (p *Permit) HTTP() *HTTP { p.http.p = p; return &p.http }

// HTTP sends requests through the guarded client.
type HTTP struct {
	p      *Permit
	client *egress.Client
}

// Do performs one request. Redirects are not followed. A refusal of the client's
// own guard wraps egress.ErrRefused; anything else means that the network was
// reached, and what came from it is third-party content.
func (h *HTTP) Do(ctx context.Context, r egress.Request) (*egress.Response, error) {
	if h.client == nil {
		return nil, errNoNetwork
	}
	resp, err := h.client.Do(ctx, r)
	if !errors.Is(err, egress.ErrRefused) {
		h.p.network = true
	}
	return resp, err
}

// Root opens the files that the gates judged, and no others: a path that is not
// an argument of the call, or that now leads elsewhere, is an error.
type Root struct {
	p      *Permit
	space  *workspace.Space
	judged map[string]workspace.Target // by the text of the argument
	state  *State
	turn   policy.Taint // what the rest of its batch would bring in, perhaps into a file that this call reads and writes
}

func (r *Root) target(path string) (workspace.Target, error) {
	if r.space == nil {
		return workspace.Target{}, errNoFiles
	}
	t, ok := r.judged[path]
	if !ok {
		return t, fmt.Errorf("%q is not a path that was judged for this call", path)
	}
	return t, nil
}

// ReadFile reads a regular file of at most limit bytes. more says that it is
// longer; the data is then its beginning.
func (r *Root) ReadFile(path string, limit int64) (data []byte, more bool, err error) {
	t, err := r.target(path)
	if err != nil {
		return nil, false, err
	}
	return r.read(t, limit)
}

func (r *Root) read(t workspace.Target, limit int64) (data []byte, more bool, err error) {
	f, info, err := r.space.OpenFile(t)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	h := sha256.New()
	data, err = io.ReadAll(io.TeeReader(io.LimitReader(f, limit+1), h))
	whole := len(data) > 0
	if int64(len(data)) > limit {
		data, more = data[:limit], true
	}
	if more && info.Size() <= maxWritten { // the index knows whole files
		_, rest := io.Copy(h, io.LimitReader(f, maxWritten))
		err = cmp.Or(err, rest)
	}
	if err != nil {
		return nil, false, unreadable(t, err)
	}
	r.note(t, whole && r.known(hex.EncodeToString(h.Sum(nil))))
	return data, more, nil
}

// unreadable is an error of reading, without the host's path in it.
func unreadable(t workspace.Target, err error) error {
	return fmt.Errorf("%s: %w", t.Rel, errors.Unwrap(err))
}

// note joins what a file's name or content brings in. A spilled result may be
// of any call before.
func (r *Root) note(t workspace.Target, untrusted bool) {
	if t.Spill {
		r.p.brought = r.p.brought.Join(r.state.Held)
		return
	}
	if untrusted || t.Untrusted || r.state.Tainted[t.Rel] || r.state.Tainted[everywhere] {
		r.p.brought = r.p.brought.Join(policy.Tainted(policy.Untrusted, r.p.id))
	}
	r.p.brought = r.p.brought.Join(policy.Tainted(policy.Unvouched, r.p.id))
}

// known reports whether this run or an earlier one wrote the content with this
// digest while it held third-party content. The caller does not ask for the digest
// of nothing, which would mark every empty file.
func (r *Root) known(sum string) bool {
	return r.state.Tainted[sum] || r.state.Untrusted != nil && r.state.Untrusted(sum)
}

// List returns the entries of a directory, at most limit of them. Names are
// content too: they bring in what the files that bear them would.
func (r *Root) List(path string, limit int) (entries []workspace.Entry, more bool, err error) {
	t, err := r.target(path)
	if err != nil {
		return nil, false, err
	}
	entries, more, err = r.space.ReadDir(t, limit)
	r.note(t, slices.ContainsFunc(entries, func(e workspace.Entry) bool {
		return e.Untrusted || r.chosen(gopath.Join(t.Rel, e.Name))
	}))
	return entries, more, err
}

// chosen reports whether the run, while it held third-party content, chose this
// name: of a file that it wrote, or of a directory above one.
func (r *Root) chosen(rel string) bool {
	if r.state.Tainted[rel] {
		return true
	}
	for path := range r.state.Tainted {
		if strings.HasPrefix(path, rel+"/") {
			return true
		}
	}
	return false
}

// A ReadFunc reads at most limit bytes of the file that a walk is at; more says
// that it is longer.
type ReadFunc func(limit int64) (data []byte, more bool, err error)

// Walk calls visit, in order, for the files under path whose path below it keep
// accepts; of the others nothing may be told, and they bring nothing in. Links are
// not followed. visit may return fs.SkipAll. What could not be walked is reported
// at the end, by an error that is ErrPartial.
func (r *Root) Walk(path string, keep func(below string) bool, visit func(rel string, info fs.FileInfo, read ReadFunc) error) error {
	t, err := r.target(path)
	if err != nil {
		return err
	}
	r.note(t, false)
	return r.space.Walk(t, func(f workspace.Target, info fs.FileInfo) error {
		if info.IsDir() || !keep(below(t.Rel, f.Rel)) {
			return nil
		}
		r.note(f, false)
		return visit(f.Rel, info, func(limit int64) ([]byte, bool, error) { return r.read(f, limit) })
	}, workspace.Limits{})
}

// below is a file's path seen from the directory where a walk starts; a walk that
// starts at the file itself sees its name.
func below(start, rel string) string {
	switch start {
	case ".":
		return rel
	case rel:
		return gopath.Base(rel)
	}
	return strings.TrimPrefix(rel, start+"/")
}
