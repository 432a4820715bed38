package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxNotes bounds the reports of progress of one server that are logged.
const maxNotes = 1000

// A session is one connection with a server.
type session struct {
	mcp    *sdk.ClientSession
	proc   *process      // nil for a URL
	broken chan struct{} // closed when the connection has ended
	gone   chan struct{} // closed when its process has ended too
	why    error         // why the connection ended; set before broken is closed
}

// dial starts or reaches the server and greets it. One goroutine waits for the end
// of the connection, which close brings about.
func (s *server) dial(ctx context.Context) (_ *session, err error) {
	n := &session{broken: make(chan struct{}), gone: make(chan struct{})}
	var t sdk.Transport
	if s.URL != "" {
		cfg := *s.cfg
		cfg.Transport = counting{cfg.Transport}
		t = cfg.transport(&s.Server)
	} else if n.proc, t, err = s.run(); err != nil {
		return nil, err
	} else {
		t = watched{t, s}
	}
	n.mcp, err = s.client().Connect(ctx, t, nil)
	if err != nil {
		n.mcp = nil
		if strings.HasSuffix(err.Error(), "EOF") { // the SDK keeps the text of the cause alone
			err = io.EOF
		}
		n.end(err)
		return n, err
	}
	go func() { n.end(n.mcp.Wait()) }()
	return n, nil
}

// maxUnasked bounds the messages of a server after a question of ours: a report of
// progress every few milliseconds of a long call. The SDK keeps all that it has
// not handled yet.
const maxUnasked = 10_000

// errFlood ends the connection with a server that talks without end.
var errFlood = fmt.Errorf("more than %d messages that nobody asked for", maxUnasked)

// watched notes that tools changed in the order of the messages. The SDK handles
// what a server says unasked beside its answers, so that the next call could come
// first; and one by one, so that it is not given what nobody reads. Over HTTP there
// is no such order, and the SDK needs its own connection.
type watched struct {
	sdk.Transport
	s *server
}

// Connect implements sdk.Transport.
func (w watched) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := w.Transport.Connect(ctx)
	return &watchedConn{Connection: c, s: w.s}, err
}

type watchedConn struct {
	sdk.Connection
	s       *server
	unasked atomic.Int64 // messages since our last question
}

// Write implements sdk.Connection.
func (c *watchedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.unasked.Store(0)
	}
	return c.Connection.Write(ctx, m)
}

// Read implements sdk.Connection.
func (c *watchedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		if c.unasked.Add(1) > maxUnasked {
			return nil, errFlood
		}
		if r, ok := m.(*jsonrpc.Request); !ok || r.IsCall() || c.heeds(r.Method) {
			return m, nil
		}
	}
}

// heeds reports whether anyone reads what the server says.
func (c *watchedConn) heeds(method string) bool {
	switch method {
	case toolsChanged:
		c.s.stale.Store(true)
	case "notifications/progress":
		return c.s.notes.Load() < maxNotes
	case "notifications/cancelled":
		return true
	}
	return false
}

// counting bounds the messages of each stream that a server with a URL answers with.
type counting struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(req)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &events{ReadCloser: resp.Body}
	}
	return resp, err
}

// events counts what a stream holds. A blank line ends an event.
type events struct {
	io.ReadCloser
	n    int
	text bool // the line holds something
}

func (e *events) Read(p []byte) (int, error) {
	if e.n > maxUnasked {
		return 0, errFlood
	}
	n, err := e.ReadCloser.Read(p)
	for _, c := range p[:n] {
		switch {
		case c != '\n':
			e.text = e.text || c != '\r'
		case e.text:
			e.text = false
		default:
			e.n++
		}
	}
	return n, err
}

const toolsChanged = "notifications/tools/list_changed"

// client offers the server nothing: no files, no model, no questions to the user.
func (s *server) client() *sdk.Client {
	c := sdk.NewClient(&sdk.Implementation{Name: "codeact", Version: s.cfg.Version}, &sdk.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler), // it quotes the server raw
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.stale.Store(true) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.note(fmt.Sprintf("%v: %g of %g %s", r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message))
		},
	})
	c.AddReceivingMiddleware(offerNothing)
	return c
}

// offerNothing refuses every request of the server but a ping: the SDK would
// answer some although the client does not offer them.
func offerNothing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != "ping" && !strings.HasPrefix(method, "notifications/") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client offers nothing"}
		}
		return next(ctx, method, req)
	}
}

// note logs how far a call is.
func (s *server) note(text string) {
	if s.notes.Add(1) <= maxNotes {
		s.cfg.Log.Debug().Str("server", s.Name).Str("text", oneLine(s.cfg.clean(text))).Msg("mcp_progress")
	}
}

// end notes why the connection ended, and ends the process that it led to.
func (n *session) end(why error) {
	n.why = why
	close(n.broken)
	if n.proc != nil {
		n.proc.close()
	}
	close(n.gone)
}

func (n *session) ended() bool {
	select {
	case <-n.broken:
		return true
	default:
		return false
	}
}

// death says how a session ended that may just be ending, "" for one that lives.
func (n *session) death() string {
	if n.proc == nil {
		return ""
	}
	select {
	case <-n.broken:
	case <-time.After(waitDelay): // an answer that cannot be read ends nothing
		return ""
	}
	<-n.gone
	how := "the server ended (" + n.proc.cmd.ProcessState.String() + ")"
	if n.why != nil && !errors.Is(n.why, io.EOF) {
		how = fmt.Sprintf("what the server wrote cannot be used (%v): %s", n.why, how)
	}
	return how
}

// close ends the process first: the SDK would wait for its answers.
func (n *session) close() {
	if n.proc != nil {
		n.proc.close()
	}
	if n.mcp != nil {
		_ = n.mcp.Close() // the other side is gone or told so
	}
	<-n.gone
}

// errTooMuch is a list that is not read to its end.
var errTooMuch = errors.New("it offers too much")

// list returns all tools, page by page.
func (n *session) list(ctx context.Context) ([]*sdk.Tool, error) {
	var tools []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := n.mcp.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		if tools = append(tools, page.Tools...); len(tools) > maxTools {
			return nil, fmt.Errorf("%w: more than %d tools", errTooMuch, maxTools)
		}
		if page.NextCursor == "" {
			return tools, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("%w: more than %d pages of tools", errTooMuch, maxPages)
}

// Codes that the SDK itself gives to ends of a call that the server did not
// answer. A server that answers with one of them is taken for lost too.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeUnknown       = -32001
	codeClientClosing = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)

// answered returns the error that the server answered with, nil if err is anything
// else.
func answered(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code {
	case codeParse, codeInvalid, codeUnknown, codeClientClosing, codeServerClosing, codeRejected:
		return nil
	}
	return e
}
