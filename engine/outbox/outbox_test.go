package outbox_test

import (
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine/outbox"
)

var noon = time.Date(2026, 5, 26, 12, 0, 0, 0, time.UTC)

func draft(id string) bridge.Draft {
	return bridge.Draft{ID: id, Run: "r1", Call: "r1/1/1", Tool: "post", Pin: "p1", At: noon, Question: bridge.Question{Tool: "post"},
		Args: map[string]any{"to": "bob", "n": int64(7), "big": new(big.Int).Lsh(big.NewInt(1), 70), "raw": []byte{0, 255}}}
}

func box(t *testing.T, ids ...string) *outbox.Box {
	t.Helper()
	b := outbox.Open(filepath.Join(t.TempDir(), "outbox"))
	for _, id := range ids {
		if err := b.From(outbox.Origin{Task: "/t/task.yaml", Digest: "sha256:1", Params: map[string]string{"a": "b"}}).Stage(draft(id)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

var opts = cmp.Options{cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }), cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })}

func TestADraftComesBackAsItWasStaged(t *testing.T) {
	b := box(t, "d-1")
	e, err := b.Load("d-1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(draft("d-1"), e.Draft, opts); d != "" || e.State != outbox.Staged || e.Origin.Params["a"] != "b" {
		t.Errorf("%s\n%+v", d, e)
	}
}

func TestStagingTheSameCallAgainKeepsTheFirst(t *testing.T) {
	b := box(t, "d-1")
	other := draft("d-1")
	other.Args = map[string]any{"to": "eve"}
	if err := b.From(outbox.Origin{}).Stage(other); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Load("d-1"); err != nil || e.Args["to"] != "bob" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestOnlyTheOwnerMayReadDrafts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outbox")
	b := outbox.Open(dir)
	if err := b.From(outbox.Origin{}).Stage(draft("d-1")); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEditKeepsWhatWasStagedAndChangesTheDigest(t *testing.T) {
	b := box(t, "d-1")
	before, _ := b.Load("d-1")
	if err := b.Edit("d-1", map[string]any{"to": "carol"}); err != nil {
		t.Fatal(err)
	}
	after, err := b.Load("d-1")
	if err != nil || after.Args["to"] != "bob" || after.Edited["to"] != "carol" || after.Final().Args["to"] != "carol" || before.Final().Args["to"] != "bob" {
		t.Fatalf("%+v, %v", after, err)
	}
	old, err1 := before.Digest()
	now, err2 := after.Digest()
	if err := errors.Join(err1, err2); err != nil || old == now || !strings.HasPrefix(now, "sha256:") {
		t.Errorf("%s, %s, %v", old, now, err)
	}
}

// A move is one of the things that can happen to a draft. A sender that comes to no
// end lets go of it all the same, as a process does that dies.
func TestWhatMayHappenToADraft(t *testing.T) {
	held := func(does ...func(*outbox.Held) error) func(*outbox.Box) error {
		return func(b *outbox.Box) error {
			h, err := b.Hold("d-1")
			if err != nil {
				return err
			}
			for _, do := range does {
				if err = do(h); err != nil {
					break
				}
			}
			return errors.Join(err, h.Close())
		}
	}
	first := func(h *outbox.Held) error { return h.Begin(false) }
	over := func(h *outbox.Held) error { return h.Begin(true) }
	settle := func(h *outbox.Held) error { return h.Sent(outbox.End{Run: "r2"}) }
	edit := func(b *outbox.Box) error { return b.Edit("d-1", map[string]any{}) }
	drop := func(b *outbox.Box) error { return b.Drop("d-1", outbox.End{}) }
	lost := func(b *outbox.Box) error { return b.Drop("d-1", outbox.End{Lost: true}) }
	begin, again, sent := held(first), held(over), held(first, settle)
	release := held(first, (*outbox.Held).Release)
	errAny := errors.New("any error")
	type moves = []func(*outbox.Box) error
	tests := []struct {
		name  string
		moves moves // all but the last succeed
		want  error
		state outbox.State
	}{
		{"it is sent", moves{sent}, nil, outbox.Sent},
		{"it is dropped", moves{drop}, nil, outbox.Dropped},
		{"it is sent once", moves{sent, begin}, outbox.ErrSettled, outbox.Sent},
		{"also with again", moves{sent, again}, outbox.ErrSettled, outbox.Sent},
		{"what was dropped is not sent", moves{drop, begin}, outbox.ErrSettled, outbox.Dropped},
		{"nor edited", moves{drop, edit}, outbox.ErrSettled, outbox.Dropped},
		{"a lost sender leaves it unknown", moves{begin, begin}, outbox.ErrUnknown, outbox.Sending},
		{"it is not edited while it may have been sent", moves{begin, edit}, outbox.ErrUnknown, outbox.Sending},
		{"nor dropped", moves{begin, drop}, outbox.ErrUnknown, outbox.Sending},
		{"but by one who knows", moves{begin, lost}, nil, outbox.Dropped},
		{"one who knows takes it over", moves{begin, held(over, settle)}, nil, outbox.Sent},
		{"again and again", moves{begin, again, held(over, settle)}, nil, outbox.Sent},
		{"where none was lost there is none to take over", moves{again}, outbox.ErrNotLost, outbox.Staged},
		{"nor a lost one to drop", moves{lost}, outbox.ErrNotLost, outbox.Staged},
		{"a sender that sent nothing gives it back", moves{release, edit, begin}, nil, outbox.Sending},
		{"also one after the other", moves{release, release, again}, outbox.ErrNotLost, outbox.Staged},
		{"a doubt outlives a later try that sent nothing", moves{begin, held(over, (*outbox.Held).Release), begin}, outbox.ErrUnknown, outbox.Sending},
		{"what was not begun was not sent", moves{held(settle)}, errAny, outbox.Staged},
		{"nor what was given back", moves{held(first, (*outbox.Held).Release, settle)}, errAny, outbox.Staged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := box(t, "d-1")
			var err error
			for i, move := range tt.moves {
				if err = move(b); err != nil && i < len(tt.moves)-1 {
					t.Fatal(i, err)
				}
			}
			if (err != nil) != (tt.want != nil) || tt.want != errAny && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if e, err := b.Load("d-1"); err != nil || e.State != tt.state {
				t.Errorf("state %s, %v", e.State, err)
			}
		})
	}
}

// What one holds nobody else holds, edits or drops, whatever state it is in.
func TestADraftInOneHandIsInNoOther(t *testing.T) {
	b := box(t, "d-1", "d-2")
	h, err := b.Hold("d-1")
	if err != nil {
		t.Fatal(err)
	}
	others := func(when string) {
		t.Helper()
		_, err1 := b.Hold("d-1")
		err2 := b.Edit("d-1", map[string]any{"to": "eve"})
		err3 := b.Drop("d-1", outbox.End{})
		err4 := b.Drop("d-1", outbox.End{Lost: true})
		for i, err := range []error{err1, err2, err3, err4} {
			var busy *outbox.BusyError
			if !errors.As(err, &busy) || *busy != (outbox.BusyError{ID: "d-1", PID: os.Getpid()}) {
				t.Errorf("%s, attempt %d: %v", when, i, err)
			}
		}
	}
	others("before it is begun")
	if err := h.Begin(false); err != nil {
		t.Fatal(err)
	}
	others("while it is sent")
	if err := b.Edit("d-2", map[string]any{}); err != nil {
		t.Errorf("another draft: %v", err)
	}
	if err := errors.Join(h.Sent(outbox.End{Run: "r2"}), h.Close()); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Load("d-1"); err != nil || e.State != outbox.Sent || e.Edited != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestABusyDraftSaysWhoHasIt(t *testing.T) {
	for pid, want := range map[int]string{
		7: "outbox: d-1 is being sent or changed by process 7; wait until it ends or stop it",
		0: "outbox: d-1 is being sent or changed by another process; wait until it ends",
	} {
		if got := (&outbox.BusyError{ID: "d-1", PID: pid}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The end names what was sent, so that files changed later do not stand for it.
func TestTheEndKeepsWhatWasSent(t *testing.T) {
	for _, edited := range []bool{false, true} {
		b := box(t, "d-1")
		if edited {
			if err := b.Edit("d-1", map[string]any{"to": "carol"}); err != nil {
				t.Fatal(err)
			}
		}
		h, err := b.Hold("d-1")
		if err != nil {
			t.Fatal(err)
		}
		want, err := h.Digest()
		if err := errors.Join(err, h.Begin(false), h.Sent(outbox.End{By: "ann", At: noon, Run: "r2", Digest: "sha256:x", Edited: !edited}), h.Close()); err != nil {
			t.Fatal(err)
		}
		e, err := b.Load("d-1")
		if d := cmp.Diff(outbox.End{State: outbox.Sent, By: "ann", At: noon, Run: "r2", Digest: want, Edited: edited}, e.End); d != "" || err != nil {
			t.Errorf("edited %v: %s %v", edited, d, err)
		}
	}
}

func TestOfManySendersOneSends(t *testing.T) {
	for _, again := range []bool{false, true} {
		b := box(t, "d-1")
		if again { // the first sender was lost
			h, err := b.Hold("d-1")
			if err := errors.Join(err, h.Begin(false), h.Close()); err != nil {
				t.Fatal(err)
			}
		}
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				h, err := b.Hold("d-1")
				if err != nil {
					return
				}
				if h.Begin(again) == nil {
					won.Add(1)
					err = h.Sent(outbox.End{})
				}
				if err := errors.Join(err, h.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("again %v: %d senders sent", again, won.Load())
		}
	}
}

func TestListShowsEveryDraftAndNamesABrokenOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outbox")
	b := outbox.Open(dir)
	if list, err := b.List(); list != nil || err != nil {
		t.Errorf("an empty box lists %v, %v", list, err)
	}
	for _, id := range []string{"d-2", "d-1"} {
		if err := b.From(outbox.Origin{}).Stage(draft(id)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"d-3": "{", "d-4": `{"v":1,"args":[]}`, "d-5": `{"v":2,"args":{}}`, "d-6": `{"args":{}}`} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "draft.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List()
	if len(list) != 2 || list[0].ID != "d-1" || err == nil {
		t.Fatalf("%d drafts, %v", len(list), err)
	}
	for _, want := range []string{"d-3: ", "d-4: its arguments are no object", "d-5: its version is 2, ", "d-6: its version is 0, "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestAnIDIsNoPath(t *testing.T) {
	b := box(t, "d-1")
	for _, id := range []string{"", "../outbox/d-1", "d-1/../d-1", ".", "D-1", "d_1", strings.Repeat("a", 200)} {
		if _, err := b.Load(id); !errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("Load(%q) = %v", id, err)
		}
		if _, err := b.Hold(id); !errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("Hold(%q) = %v", id, err)
		}
		d := draft(id)
		if err := b.From(outbox.Origin{}).Stage(d); err == nil {
			t.Errorf("Stage(%q) succeeds", id)
		}
	}
}
