package shellrisk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk reads every command below a statement, wherever it stands: in chains, pipes, substitutions, here-documents, functions,
// arithmetic. The walk is the parser's own, so that no kind of node can be forgotten.
func (r *reader) walk(stmt *syntax.Stmt) {
	fed := map[*syntax.Stmt]string{} // what a pipe feeds into a statement, where the line says it
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			r.stmt(n, fed)
		case *syntax.BinaryCmd:
			if text, ok := echoed(n.X); ok && (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) {
				fed[n.Y] = text
			}
		case *syntax.Redirect:
			r.redirect(n)
		case *syntax.Assign:
			r.assign(n)
		case *syntax.FuncDecl:
			r.function(n)
		default:
			r.dialect(n)
		}
		return true
	})
}

// dialect judges what bash and sh read differently, and what runs text that is not there.
func (r *reader) dialect(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestDecl:
		r.raise(unparsed, "(( )) and let: sh reads them as commands")
	case *syntax.SglQuoted:
		if n.Dollar {
			r.raise(unparsed, "$'…': sh reads it otherwise")
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			r.raise(unparsed, "$\"…\": sh reads it otherwise")
		}
	case *syntax.ArithmExp:
		r.raise(medium, "arithmetic evaluates what its variables hold")
		if n.Bracket {
			r.raise(unparsed, "$[…]: sh reads it otherwise")
		}
	case *syntax.BinaryTest:
		if n.Op == syntax.TsBefore || n.Op == syntax.TsAfter {
			r.raise(unparsed, "[[ with < or >: sh reads a redirect")
		}
	case *syntax.ParamExp:
		if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			r.raise(unparsed, "an expansion that evaluates its value")
		}
		if n.Index != nil || n.Slice != nil {
			r.raise(medium, "arithmetic evaluates what its variables hold")
		}
	case *syntax.DeclClause:
		r.name(n.Variant.Value)
		r.raise(medium, "%s changes the shell", n.Variant.Value)
	case *syntax.TestClause, *syntax.CoprocClause, *syntax.ProcSubst, *syntax.ArrayExpr, *syntax.ExtGlob:
		r.raise(medium, "a construct of bash alone")
	}
}

func (r *reader) stmt(s *syntax.Stmt, fed map[*syntax.Stmt]string) {
	if test, ok := s.Cmd.(*syntax.TestClause); ok && test != nil {
		r.name("[[")
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	c := command{words: make([]word, len(call.Args))}
	for i, w := range call.Args {
		c.words[i] = read(w)
		r.operand(c.words[i])
	}
	c.stdin, c.fed = fed[s]
	for _, redir := range s.Redirs {
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			body := word{kind: plain}
			if redir.Hdoc != nil {
				body.parts(redir.Hdoc.Parts, true)
			}
			c.stdin, c.fed = body.text, body.kind == plain
		case syntax.WordHdoc:
			here := read(redir.Word)
			c.stdin, c.fed = here.text, here.kind != open
		case syntax.RdrIn, syntax.RdrInOut:
			from := read(redir.Word)
			c.from = &from
		}
	}
	if len(c.words) > 0 {
		r.command(c)
	}
}

// echoed is the text that a statement prints, if the line says so.
func echoed(s *syntax.Stmt) (string, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	words := make([]word, len(call.Args))
	for i, a := range call.Args {
		if words[i] = read(a); words[i].kind != plain {
			return "", false
		}
	}
	var text string
	switch rest := words[1:]; {
	case words[0].text == "echo":
		for len(rest) > 0 && (rest[0].text == "-n" || rest[0].text == "-e") {
			rest = rest[1:]
		}
		text = joined(rest).text
	case words[0].text == "printf" && len(rest) == 1:
		text = rest[0].text
	default:
		return "", false
	}
	text = strings.ReplaceAll(text, `\n`, "\n")
	return text, !strings.ContainsAny(text, `\%`) // escapes that echo and printf know
}

// redirect notes a file that a redirect opens. A file that is opened for writing is created and cut, whatever the command does.
func (r *reader) redirect(n *syntax.Redirect) {
	if n.Word == nil || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc || n.Op == syntax.WordHdoc {
		return
	}
	w := read(n.Word)
	if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
		r.seen.Network, r.fetched = true, true
		r.raise(high, "opens a connection, %s", w.text)
		return
	}
	switch n.Op {
	case syntax.RdrIn:
		r.operand(w)
		return
	case syntax.DplIn, syntax.DplOut:
		if w.kind == plain && (w.text == "-" || strings.Trim(w.text, "0123456789-") == "") {
			return // a descriptor
		}
	}
	r.write("redirect", w)
}

// assign judges a variable that is set, before a command or for all that follow.
func (r *reader) assign(n *syntax.Assign) {
	if n.Name == nil { // a word after declare or export, which may be anything
		if n.Value == nil {
			return
		}
		w := read(n.Value)
		if r.set(w.text); w.kind == open {
			r.raise(unparsed, "a variable known only when the line runs")
		}
		return
	}
	r.set(n.Name.Value + "=")
}

// set judges NAME=value by its name.
func (r *reader) set(text string) {
	name, _, _ := strings.Cut(text, "=")
	switch {
	case harmlessVariable[name]:
	case steersPrograms(name):
		r.raise(high, "%s says what other programs run or load", name)
	default:
		r.raise(medium, "sets %s", name)
	}
}

var harmlessVariable = set("LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME TZ COLUMNS LINES NO_COLOR CLICOLOR")

// steering are variables by which a program is told what to run, to load or to trust.
var steering = set("PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH HOME SHELL PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN " +
	"LESSCLOSE MAKEFLAGS CC CXX RUSTC_WRAPPER GOFLAGS GOPROXY GONOSUMDB GOTOOLCHAIN NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS " +
	"TAR_OPTIONS RIPGREP_CONFIG_PATH SSH_ASKPASS SUDO_ASKPASS HTTP_PROXY HTTPS_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR GREP_OPTIONS")

func steersPrograms(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "PYTHON", "PERL5", "RUBY", "NPM_CONFIG_", "PIP_", "CARGO_", "BASH_FUNC_", "GCONV_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return steering[upper]
}

// function judges a definition. The body is walked like all else, called or not.
func (r *reader) function(n *syntax.FuncDecl) {
	if n.Name == nil {
		r.raise(unparsed, "a function without a name")
		return
	}
	r.raise(medium, "defines the function %s", n.Name.Value)
	calls, spawns := false, false
	syntax.Walk(n.Body, func(m syntax.Node) bool {
		switch m := m.(type) {
		case *syntax.CallExpr:
			calls = calls || len(m.Args) > 0 && read(m.Args[0]).text == n.Name.Value
		case *syntax.Stmt:
			spawns = spawns || m.Background || m.Coprocess
		case *syntax.BinaryCmd:
			spawns = spawns || m.Op == syntax.Pipe || m.Op == syntax.PipeAll
		}
		return true
	})
	if calls && spawns {
		r.raise(blocked, "fork bomb: %s starts itself", n.Name.Value)
	}
}
