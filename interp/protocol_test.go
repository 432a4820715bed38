package interp

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// liar is a worker that the test speaks for.
type liar struct {
	conn   *wire.Conn
	pipe   net.Conn
	worker *wire.Conn
	raw    net.Conn

	looks atomic.Int64  // at its processor time
	pace  time.Duration // of processor time, for each look; 0: unknown
}

func newLiar() *liar {
	host, child := net.Pipe()
	return &liar{conn: wire.NewConn(host), pipe: host, worker: wire.NewConn(child), raw: child}
}

func (l *liar) Conn() *wire.Conn   { return l.conn }
func (l *liar) Kill()              { l.pipe.Close() }
func (l *liar) Wait() worker.Death { l.pipe.Close(); return worker.Death{} }

func (l *liar) CPU() (time.Duration, bool) { return time.Duration(l.looks.Add(1)) * l.pace, l.pace > 0 }

// receive reads what the host sent.
func (l *liar) receive(m wire.Message) {
	if f, err := l.worker.Receive(); err == nil {
		_ = f.Decode(m)
	}
}

// raw frame: a length, a kind and a body as given.
func frame(length uint32, kind wire.Kind, body ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, length), byte(kind)), body...)
}

func TestEveryLieKillsTheWorker(t *testing.T) {
	call := func(b wire.Block, n int, tool string) wire.Call {
		return wire.Call{Block: b.ID, N: n, Tool: tool, Args: map[string]any{}}
	}
	deep := any(int64(1))
	for range 34 {
		deep = []any{deep}
	}
	send := func(m wire.Message) func(*liar, wire.Block) {
		return func(l *liar, b wire.Block) { l.worker.Send(m) }
	}
	tests := map[string]func(*liar, wire.Block){
		"unknown tool":     func(l *liar, b wire.Block) { l.worker.Send(call(b, 1, "rm")) },
		"other block":      send(wire.Call{Block: 7, N: 1, Tool: "echo"}),
		"number too high":  func(l *liar, b wire.Block) { l.worker.Send(call(b, 2, "echo")) },
		"number zero":      func(l *liar, b wire.Block) { l.worker.Send(call(b, 0, "echo")) },
		"number again":     func(l *liar, b wire.Block) { l.twice(call(b, 1, "echo"), call(b, 1, "echo")) },
		"call after end":   func(l *liar, b wire.Block) { l.twice(call(b, 1, "pause"), call(b, 2, "echo")) },
		"no end after end": func(l *liar, b wire.Block) { l.twice(call(b, 1, "pause"), wire.Done{Block: b.ID}) },
		"position":         func(l *liar, b wire.Block) { c := call(b, 1, "echo"); c.Position = "x\nblock:1:1"; l.worker.Send(c) },
		"argument size": func(l *liar, b wire.Block) {
			c := call(b, 1, "echo")
			c.Args["v"] = strings.Repeat("x", 256<<10)
			l.worker.Send(c)
		},
		"argument depth": func(l *liar, b wire.Block) { c := call(b, 1, "echo"); c.Args["v"] = deep; l.worker.Send(c) },
		"hello again":    send(wire.Hello{Version: wire.Version}),
		"done elsewhere": send(wire.Done{Block: 7}),
		"two outcomes": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Done{Block: b.ID, HasValue: true, Fault: &wire.Fault{Kind: wire.FaultRuntime}})
		},
		"hidden value":  func(l *liar, b wire.Block) { l.worker.Send(wire.Done{Block: b.ID, Value: int64(1)}) },
		"unknown fault": func(l *liar, b wire.Block) { l.worker.Send(wire.Done{Block: b.ID, Fault: &wire.Fault{Kind: "x"}}) },
		"false unwind": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Done{Block: b.ID, Fault: &wire.Fault{Kind: wire.FaultUnwind}})
		},
		"long print": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Print{Block: b.ID, Text: strings.Repeat("x", 70<<10)})
		},
		"long prints": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Print{Block: b.ID, Text: strings.Repeat("x", 60<<10)})
			l.worker.Send(wire.Print{Block: b.ID, Text: strings.Repeat("x", 5<<10)})
		},
		"print of nothing": func(l *liar, b wire.Block) { l.worker.Send(wire.Print{Block: b.ID}) },
		"print elsewhere":  send(wire.Print{Block: 7, Text: "x"}),
		"print not UTF-8":  func(l *liar, b wire.Block) { l.raw.Write(frame(7, wire.KindPrint, 0xa2, 1, 1, 2, 0x61, 0xff)) },
		"print after end":  func(l *liar, b wire.Block) { l.twice(call(b, 1, "pause"), wire.Print{Block: b.ID, Text: "x"}) },
		"print after cut": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Print{Block: b.ID, Truncated: true})
			l.worker.Send(wire.Print{Block: b.ID, Text: "x"})
		},
		"empty batch":    send(wire.Batch{}),
		"batch too long": func(l *liar, b wire.Block) { l.worker.Send(wire.Batch{Calls: make([]wire.Call, 51)}) },
		"batch number again": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Batch{Calls: []wire.Call{call(b, 1, "echo"), call(b, 1, "echo")}})
		},
		"batch of unknown tool": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Batch{Calls: []wire.Call{call(b, 1, "echo"), call(b, 2, "rm")}})
		},
		"batch argument size": func(l *liar, b wire.Block) {
			first, second := call(b, 1, "echo"), call(b, 2, "echo")
			first.Args["v"], second.Args["v"] = strings.Repeat("x", 200<<10), strings.Repeat("x", 100<<10)
			l.worker.Send(wire.Batch{Calls: []wire.Call{first, second}})
		},
		"not a batch":   func(l *liar, b wire.Block) { l.raw.Write(frame(2, wire.KindBatch, 0xff)) },
		"many warnings": func(l *liar, b wire.Block) { l.worker.Send(wire.Done{Block: b.ID, Warnings: make([]string, 99)}) },
		"negative time": func(l *liar, b wire.Block) { l.worker.Send(wire.Done{Block: b.ID, CPU: -1}) },
		"big final": func(l *liar, b wire.Block) {
			l.worker.Send(wire.Done{Block: b.ID, HasFinal: true, Final: strings.Repeat("x", 300<<10)})
		},
		"deep value":     func(l *liar, b wire.Block) { l.worker.Send(wire.Done{Block: b.ID, HasValue: true, Value: deep}) },
		"huge length":    func(l *liar, b wire.Block) { l.raw.Write(frame(1<<31, wire.KindDone)) },
		"zero length":    func(l *liar, b wire.Block) { l.raw.Write(frame(0, wire.KindDone)) },
		"not CBOR":       func(l *liar, b wire.Block) { l.raw.Write(frame(2, wire.KindDone, 0xff)) },
		"unknown kind":   func(l *liar, b wire.Block) { l.raw.Write(frame(2, 99, 0xa0)) },
		"duplicate keys": func(l *liar, b wire.Block) { l.raw.Write(frame(6, wire.KindDone, 0xa2, 1, 1, 1, 1)) },
		"unknown field":  func(l *liar, b wire.Block) { l.raw.Write(frame(5, wire.KindDone, 0xa1, 24, 99, 1)) },
		"indefinite map": func(l *liar, b wire.Block) { l.raw.Write(frame(3, wire.KindDone, 0xbf, 0xff)) },
	}
	for name, lie := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLiar()
			defer l.raw.Close()
			s := newSession(l, defaults(t), testTools)
			go func() {
				var b wire.Block
				l.receive(&b)
				lie(l, b)
			}()
			_, err := exec(t, s, "1")
			if !errors.Is(err, ErrProtocol) || !s.Dead() {
				t.Errorf("got %v, dead %v", err, s.Dead())
			}
			if strings.HasSuffix(name, "after end") && !errors.Is(err, errPaused) {
				t.Errorf("got %v: the unwinding error is lost", err)
			}
		})
	}
}

// twice sends a call, takes its reply and sends the next message.
func (l *liar) twice(first, second wire.Message) {
	l.worker.Send(first)
	l.receive(&wire.Reply{})
	l.worker.Send(second)
}

func defaults(t *testing.T) Limits {
	t.Helper()
	l, errs := Limits{}.WithDefaults()
	if errs != nil {
		t.Fatal(errs)
	}
	return l
}

func TestAWorkerThatGoesAwayIsACrash(t *testing.T) {
	for name, leave := range map[string]func(*liar, wire.Block){
		"at once":      func(l *liar, _ wire.Block) { l.raw.Close() },
		"in a frame":   func(l *liar, _ wire.Block) { l.raw.Write([]byte{0, 0}); l.raw.Close() },
		"at the reply": func(l *liar, b wire.Block) { l.worker.Send(wire.Call{Block: b.ID, N: 1, Tool: "echo"}); l.raw.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar()
			s := newSession(l, defaults(t), testTools)
			go func() {
				var b wire.Block
				l.receive(&b)
				leave(l, b)
			}()
			if _, err := exec(t, s, "1"); !errors.Is(err, ErrWorkerCrash) || !s.Dead() {
				t.Errorf("got %v, dead %v", err, s.Dead())
			}
		})
	}
	l := newLiar()
	l.raw.Close()
	if _, err := exec(t, newSession(l, defaults(t), nil), "1"); !errors.Is(err, ErrWorkerCrash) {
		t.Errorf("before the block: got %v", err)
	}
}

func TestALateFrameIsALie(t *testing.T) {
	l := newLiar()
	defer l.raw.Close()
	s := newSession(l, defaults(t), testTools)
	go func() {
		var b wire.Block
		l.receive(&b)
		l.worker.Send(wire.Done{Block: b.ID})
		l.receive(&wire.Block{})
		l.worker.Send(wire.Call{Block: b.ID, N: 1, Tool: "echo"}) // of the first block
	}()
	mustExec(t, s, "1")
	if _, err := exec(t, s, "2"); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

func TestTheHandshakeFailsClosed(t *testing.T) {
	honest := wire.Hello{Version: wire.Version, Held: []string{"fds"}, Missed: []string{"seccomp: not in this kernel"}}
	tests := []struct {
		name    string
		require []string
		speak   func(*liar)
		want    error
		text    string
	}{
		{"enough", []string{"fds"}, func(l *liar) { l.worker.Send(honest); l.receive(&wire.Open{}); l.worker.Send(wire.Ready{}) }, nil, ""},
		{"one is absent", []string{"fds", "landlock", "seccomp"}, func(l *liar) { l.worker.Send(honest) }, ErrSandbox, "[landlock seccomp: not in this kernel]"},
		{"other version", nil, func(l *liar) { l.worker.Send(wire.Hello{Version: 99}) }, ErrWorkerCrash, "version 99"},
		{"no hello", nil, func(l *liar) { l.worker.Send(wire.Done{}) }, wire.ErrMalformed, "got done, want hello"},
		{"silence", nil, func(l *liar) { l.raw.Close() }, ErrWorkerCrash, ""},
		{"gone at open", []string{}, func(l *liar) { l.worker.Send(honest); l.receive(&wire.Open{}); l.raw.Close() }, ErrWorkerCrash, ""},
		{"not ready", []string{}, func(l *liar) { l.worker.Send(honest); l.receive(&wire.Open{}); l.worker.Send(honest) }, wire.ErrMalformed, "got hello, want ready"},
		{"gone before open", []string{}, func(l *liar) { l.worker.Send(honest); l.raw.Close() }, ErrWorkerCrash, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			defer l.raw.Close()
			go func() {
				tt.speak(l)
			}()
			s := newSession(l, defaults(t), nil)
			err := s.open(t.Context(), Config{Require: tt.require}, wire.Open{})
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

// A worker that speaks for ever without an end is ended: what it prints uses up the limit of printing, and everything else
// the time of the block, in which its calls are not counted and the host's own work on them is.
func TestAWorkerThatNeverFallsSilentIsEnded(t *testing.T) {
	tests := map[string]struct {
		next func(b wire.Block, n int) wire.Message
		want error
	}{
		"prints of a byte": {func(b wire.Block, _ int) wire.Message { return wire.Print{Block: b.ID, Text: "x"} }, ErrProtocol},
		"empty prints":     {func(b wire.Block, _ int) wire.Message { return wire.Print{Block: b.ID} }, ErrProtocol},
		"calls": {func(b wire.Block, n int) wire.Message {
			return wire.Call{Block: b.ID, N: n, Tool: "broken"}
		}, ErrWall},
		"batches": {func(b wire.Block, n int) wire.Message {
			return wire.Batch{Calls: []wire.Call{{Block: b.ID, N: n, Tool: "broken"}}}
		}, ErrWall},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLiar()
			limits := defaults(t)
			limits.Wall, limits.PrintBytes = 200*time.Millisecond, 1000
			frames := make(chan int)
			go func() {
				var b wire.Block
				l.receive(&b)
				n := 0
				for ; l.worker.Send(tt.next(b, n+1)) == nil; n++ {
					if tt.want == ErrWall {
						if _, err := l.worker.Receive(); err != nil {
							break
						}
					}
				}
				frames <- n
			}()
			s := newSession(l, limits, testTools)
			r, err := exec(t, s, "1")
			if !errors.Is(err, tt.want) || !s.Dead() {
				t.Errorf("got %v, dead %v", err, s.Dead())
			}
			if n := <-frames; len(r.Printed) > limits.PrintBytes || tt.want == ErrProtocol && n > limits.PrintBytes+1 {
				t.Errorf("it was heard %d times, with %d bytes", n, len(r.Printed))
			}
		})
	}
}

// A frame that is never finished, or comes a byte at a time, is no way to outlive the block's time.
func TestAWorkerThatTricklesIsEnded(t *testing.T) {
	l := newLiar()
	limits := defaults(t)
	limits.Wall = 200 * time.Millisecond
	gone := make(chan error)
	go func() {
		l.receive(&wire.Block{})
		_, err := l.raw.Write(frame(wire.MaxFrame, wire.KindDone))
		for err == nil {
			_, err = l.raw.Write([]byte{0})
			time.Sleep(time.Millisecond) // the pace is the attack
		}
		gone <- err
	}()
	if _, err := exec(t, newSession(l, limits, testTools), "1"); !errors.Is(err, ErrWall) {
		t.Errorf("got %v", err)
	}
	<-gone
}

func TestTheHostWatchesTheProcessorTime(t *testing.T) {
	l := newLiar() // a worker that has raised its own limit
	l.pace = 15 * time.Millisecond
	limits := defaults(t)
	limits.CPU = 40 * time.Millisecond
	go l.receive(&wire.Block{})
	if _, err := exec(t, newSession(l, limits, nil), "1"); !errors.Is(err, ErrCPU) || l.looks.Load() != 4 {
		t.Errorf("got %v after %d looks", err, l.looks.Load())
	}
}

func TestTheStopwatchStops(t *testing.T) {
	w := stopwatch{left: time.Hour, expire: func() { t.Error("expired") }}
	w.start()
	w.stop()
	w.stop()
	if w.left > time.Hour || w.left < 59*time.Minute {
		t.Errorf("left %v", w.left)
	}
}
