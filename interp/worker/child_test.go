package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// child runs Serve at the other end of a pipe.
func child(t *testing.T, confine Confine) (host *wire.Conn, pipe net.Conn, ended <-chan error) {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), b, confine); b.Close() }()
	t.Cleanup(func() { a.Close() })
	return wire.NewConn(a), a, done
}

func setup(t *testing.T, host *wire.Conn, tools ...wire.Signature) wire.Limits {
	t.Helper()
	limits, _ := wire.Limits{}.WithDefaults()
	err := errors.Join(host.Send(wire.Setup{Version: wire.Version, Limits: limits}), receive(host, &wire.Hello{}),
		host.Send(wire.Open{Tools: tools}))
	if err != nil {
		t.Fatal(err)
	}
	return limits
}

func TestServeEndsInOrderWhenTheHostCloses(t *testing.T) {
	host, pipe, ended := child(t, Unconfined)
	setup(t, host)
	pipe.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeRefusesAnotherVersion(t *testing.T) {
	host, _, ended := child(t, Unconfined)
	if err := host.Send(wire.Setup{Version: 99}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v", err)
	}
}

// deafAfter reads in and fails to write after n writes.
type deafAfter struct {
	in io.Reader
	n  int
}

func (d *deafAfter) Read(b []byte) (int, error) { return d.in.Read(b) }
func (d *deafAfter) Write(b []byte) (int, error) {
	if d.n--; d.n < 0 {
		return 0, errDeaf
	}
	return len(b), nil
}

var errDeaf = errors.New("deaf")

func TestServeEndsWhenTheHostIsGone(t *testing.T) {
	limits, _ := wire.Limits{}.WithDefaults()
	tool := wire.Signature{Name: "echo"}
	messages := []wire.Message{wire.Setup{Version: wire.Version, Limits: limits}, wire.Open{Tools: []wire.Signature{tool}},
		wire.Block{ID: 1, Source: "attempt(echo)\nattempt(echo)\nfinal(1)"}, wire.Reply{N: 9}}
	tests := []struct {
		name     string
		messages int
		writes   int
		want     error // nil: an orderly end
	}{
		{"before setup", 0, 9, io.EOF},
		{"at hello", 1, 0, errDeaf},
		{"before open", 1, 9, nil},
		{"before a block", 2, 9, nil},
		{"in a call", 3, 1, errDeaf},
		{"in a reply", 3, 2, errDeaf},
		{"at done, after a wrong reply", 4, 2, errDeaf},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in bytes.Buffer
			for _, m := range messages[:tt.messages] {
				if err := wire.NewConn(&in).Send(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := Serve(t.Context(), &deafAfter{&in, tt.writes}, Unconfined); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestABlockWithoutItsSliceDoesNotRun(t *testing.T) {
	refuse := func(wire.Limits) Confinement {
		return Confinement{Slice: func(time.Duration) error { return errDeaf }, Used: func() time.Duration { return 0 }}
	}
	host, _, _ := child(t, refuse)
	setup(t, host)
	var done wire.Done
	if err := errors.Join(host.Send(wire.Block{Source: "print(1)"}), receive(host, &done)); err != nil {
		t.Fatal(err)
	}
	if done.Fault == nil || done.Fault.Msg != "deaf" || done.Printed != "" {
		t.Errorf("got %+v", done)
	}
}

func TestFeaturesAreReportedOneByOne(t *testing.T) {
	yes := func(wire.Limits) error { return nil }
	no := func(wire.Limits) error { return errDeaf }
	c := apply([]feature{{"a", yes}, {"b", no}, {"c", yes}}, wire.Limits{})
	if strings.Join(c.Held, ",") != "a,c" || strings.Join(c.Missed, ",") != "b: deaf" {
		t.Errorf("got %+v", c)
	}
}

func TestAPanicIsAnError(t *testing.T) {
	limits, _ := wire.Limits{}.WithDefaults()
	s := newSession(nil, limits, Confinement{}, []wire.Signature{{Name: "echo"}})
	done := s.exec(t.Context(), wire.Block{Source: "echo()"}) // no connection: a nil dereference
	if done.Fault == nil || done.Fault.Kind != wire.FaultRuntime || !strings.Contains(done.Fault.Msg, "internal error: ") {
		t.Errorf("got %+v", done.Fault)
	}
}
