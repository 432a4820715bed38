package outbox_test

import (
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
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

// A move is one of the things that can happen to a draft.
func TestWhatMayHappenToADraft(t *testing.T) {
	edit := func(b *outbox.Box) error { return b.Edit("d-1", map[string]any{}) }
	begin := func(b *outbox.Box) error { return b.Begin("d-1", false) }
	again := func(b *outbox.Box) error { return b.Begin("d-1", true) }
	release := func(b *outbox.Box) error { return b.Release("d-1") }
	drop := func(b *outbox.Box) error { return b.Settle("d-1", outbox.End{State: outbox.Dropped}) }
	lost := func(b *outbox.Box) error { return b.Settle("d-1", outbox.End{State: outbox.Dropped, Lost: true}) }
	sent := func(b *outbox.Box) error { return b.Settle("d-1", outbox.End{State: outbox.Sent, Run: "r2"}) }
	tests := []struct {
		name  string
		moves []func(*outbox.Box) error // all but the last succeed
		want  error
		state outbox.State
	}{
		{"it is sent", []func(*outbox.Box) error{begin, sent}, nil, outbox.Sent},
		{"it is dropped", []func(*outbox.Box) error{drop}, nil, outbox.Dropped},
		{"it is sent once", []func(*outbox.Box) error{begin, sent, begin}, outbox.ErrSettled, outbox.Sent},
		{"also with again", []func(*outbox.Box) error{begin, sent, again}, outbox.ErrSettled, outbox.Sent},
		{"what was dropped is not sent", []func(*outbox.Box) error{drop, begin}, outbox.ErrSettled, outbox.Dropped},
		{"nor edited", []func(*outbox.Box) error{drop, edit}, outbox.ErrSettled, outbox.Dropped},
		{"a lost sender leaves it unknown", []func(*outbox.Box) error{begin, begin}, outbox.ErrUnknown, outbox.Sending},
		{"it is not edited while it may be sent", []func(*outbox.Box) error{begin, edit}, outbox.ErrUnknown, outbox.Sending},
		{"nor dropped", []func(*outbox.Box) error{begin, drop}, outbox.ErrUnknown, outbox.Sending},
		{"but by one who knows", []func(*outbox.Box) error{begin, lost}, nil, outbox.Dropped},
		{"one who knows takes it over", []func(*outbox.Box) error{begin, again, sent}, nil, outbox.Sent},
		{"a sender that sent nothing gives it back", []func(*outbox.Box) error{begin, release, edit, begin}, nil, outbox.Sending},
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
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if e, err := b.Load("d-1"); err != nil || e.State != tt.state {
				t.Errorf("state %s, %v", e.State, err)
			}
		})
	}
}

func TestOfManySendersOneBegins(t *testing.T) {
	b := box(t, "d-1")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 20 {
		wg.Go(func() {
			if b.Begin("d-1", false) == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d senders began", won)
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
	for name, text := range map[string]string{"d-3": "{", "d-4": `{"v":1,"args":[]}`} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "draft.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List()
	if len(list) != 2 || list[0].ID != "d-1" || err == nil || !strings.Contains(err.Error(), "d-3") || !strings.Contains(err.Error(), "d-4: its arguments are no object") {
		t.Errorf("%d drafts, %v", len(list), err)
	}
}

func TestAnIDIsNoPath(t *testing.T) {
	b := box(t, "d-1")
	for _, id := range []string{"", "../outbox/d-1", "d-1/../d-1", ".", "D-1", "d_1", strings.Repeat("a", 200)} {
		if _, err := b.Load(id); !errors.Is(err, outbox.ErrNotFound) {
			t.Errorf("Load(%q) = %v", id, err)
		}
		d := draft(id)
		if err := b.From(outbox.Origin{}).Stage(d); err == nil {
			t.Errorf("Stage(%q) succeeds", id)
		}
	}
}
