package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
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
		host.Send(wire.Open{Tools: tools}), receive(host, &wire.Ready{}))
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
	sources := map[int]string{5: "print(1)\necho()", 6: "parallel([(echo,)])"}
	tests := []struct {
		name     string
		messages int
		writes   int
		want     error // nil: an orderly end
	}{
		{"before setup", 0, 9, io.EOF},
		{"at hello", 1, 0, errDeaf},
		{"before open", 1, 9, nil},
		{"at ready", 2, 1, errDeaf},
		{"before a block", 2, 9, nil},
		{"in a call", 3, 2, errDeaf},
		{"in a reply", 3, 3, errDeaf},
		{"at print", 5, 2, errDeaf},
		{"in a batch", 6, 2, errDeaf},
		{"at done, after a wrong reply", 4, 3, errDeaf},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sent := messages[:min(tt.messages, len(messages))]
			if source := sources[tt.messages]; source != "" {
				sent = append(slices.Clone(messages[:2]), wire.Block{ID: 1, Source: source})
			}
			var in bytes.Buffer
			for _, m := range sent {
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
	if done.Fault == nil || done.Fault.Msg != "deaf" {
		t.Errorf("got %+v", done)
	}
}

func TestAWorkerForACanaryRunsNoBlock(t *testing.T) {
	host, _, ended := child(t, Unconfined)
	limits, _ := wire.Limits{}.WithDefaults()
	var done wire.Done
	err := errors.Join(host.Send(wire.Setup{Version: wire.Version, Limits: limits}), receive(host, &wire.Hello{}),
		host.Send(wire.Open{Canary: "sing"}), receive(host, &done), <-ended)
	if err != nil || done.Fault == nil || done.Fault.Kind != wire.FaultSource {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestWithoutGuardsTheLibraryAnswers(t *testing.T) {
	host, _, _ := child(t, Unconfined)
	limits, _ := wire.Limits{}.WithDefaults()
	var done wire.Done
	err := errors.Join(host.Send(wire.Setup{Version: wire.Version, Limits: limits, Unguarded: true}), receive(host, &wire.Hello{}),
		host.Send(wire.Open{}), receive(host, &wire.Ready{}), host.Send(wire.Block{Source: "len(range(2000000)) + json.decode('1')"}), receive(host, &done))
	if err != nil || done.Value != int64(2000001) {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestAHostThatAnswersABatchWronglyEndsTheBlock(t *testing.T) {
	one := wire.Reply{N: 1}
	for name, replies := range map[string][]wire.Reply{"too few": {one}, "wrong order": {{N: 2}, one}, "unwind": {one, {N: 2, Unwind: true}}} {
		host, _, _ := child(t, Unconfined)
		setup(t, host, wire.Signature{Name: "echo"})
		var batch wire.Batch
		var done wire.Done
		err := errors.Join(host.Send(wire.Block{Source: "parallel([(echo,), (echo, {'no': 1}), (echo,)])\nparallel([])"}), receive(host, &batch),
			host.Send(wire.Replies{Replies: replies}), receive(host, &done))
		if err != nil || len(batch.Calls) != 2 || batch.Calls[1].N != 2 || done.Fault == nil || done.Fault.Kind != wire.FaultUnwind {
			t.Errorf("%s: got %+v, %+v, %v", name, batch, done, err)
		}
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
