package flow

import (
	"fmt"
	"strings"
)

// generator writes programs that mostly run: a variable's first letter says what it holds (v anything, l a list, d a
// dict whose "l" is a list, f a function of (x, l), r a struct of v, l and f, t a tool, function or method).
type generator struct {
	intn   func(n int) int
	out    strings.Builder
	indent int
	budget int // statements left
	locals []string
	inLoop bool
	inDef  bool
	loops  int
	small  bool // little is tainted at the start
}

func (g *generator) one(of ...string) string { return of[g.intn(len(of))] }

// line writes a template: $e is an expression, $c a condition, $s a list, $t a tool; $v $l $d $f $r are variables that
// are read, $V $L $D $F $R $T such that the place may assign; $n is a digit; $p is parity, an index of 0 or 1.
func (g *generator) line(template string) {
	d := 2 + g.intn(2)
	if g.small {
		d = 1 + g.intn(2)
	}
	g.out.WriteString(strings.Repeat("  ", g.indent) + g.fill(template, d) + "\n")
}

func (g *generator) fill(template string, d int) string {
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		if template[i] != '$' {
			b.WriteByte(template[i])
			continue
		}
		i++
		switch k := template[i : i+1]; k {
		case "e":
			b.WriteString(g.expr(d - 1))
		case "c":
			b.WriteString(g.cond())
		case "s":
			b.WriteString(g.list(d - 1))
		case "t":
			b.WriteString(g.one("secret", "fetch", "clock", "send"))
		case "n":
			fmt.Fprint(&b, g.intn(3))
		case "p":
			fmt.Fprint(&b, g.intn(2))
		default:
			b.WriteString(g.name(k))
		}
	}
	return b.String()
}

// name is a variable. A capital asks for one that the place may assign: a global only at top level.
func (g *generator) name(kind string) string {
	lower := strings.ToLower(kind)
	if g.inDef && lower != kind {
		return lower + "x"
	}
	if g.intn(3) == 0 {
		for _, l := range g.locals {
			if strings.HasPrefix(l, lower) {
				return l
			}
		}
	}
	return fmt.Sprintf("%s%d", lower, g.intn(4)%3)
}

// program returns the blocks of a run.
func (g *generator) program() []string {
	var blocks []string
	g.small = g.intn(4) != 0
	for i := range 1 + g.intn(3) {
		g.out.Reset()
		g.budget = 4 + g.intn(8)
		if i == 0 {
			g.header()
		}
		for g.budget > 0 {
			g.statement(3)
		}
		blocks = append(blocks, g.out.String())
	}
	return blocks
}

// header gives every variable a value.
func (g *generator) header() {
	if g.small {
		g.line("v0, v1, v2 = secret(), clock(), 0")
		g.line("l0, l1, l2 = [], [1, 2], [secret()]")
		g.line(`d0, d1, d2 = {"l": []}, {"l": [3]}, {"l": [], "k": 1}`)
		g.line("f0, f1, f2 = lambda vp=0, l=[]: vp, lambda vp=0, l=[]: l, lambda vp=0, l=[]: l.append(vp)")
		g.line("r0, r1, r2 = struct(v=1, l=[], f=f0), struct(v=v0, l=[1], f=f1), struct(v=2, l=[], f=f2)")
		g.line("t0, t1, t2 = str, repr, str")
		g.function("f2")
		return
	}
	g.line(`v0, v1, v2 = "a", clock(), 0`)
	g.line("l0, l1, l2 = [], [1, 2], [secret()]")
	g.line(`d0, d1, d2 = {"l": l0}, {"l": [3]}, {"l": [], "k": secret()}`)
	for _, f := range []string{"f0", "f1", "f2"} {
		g.function(f)
	}
	g.line("r0, r1, r2 = [struct(v=v, l=l, f=f) for v, l, f in [(v0, l0, f0), (v1, l1, f1), (2, [], f2)]]")
	g.line("t0, t1, t2 = $t, $t, f0")
}

var (
	atoms = []string{`"a"`, "1", "0", "None", "[]", "$v", "$v", "$v", "$l", "$d", "len($l)", "$r.v"}

	exprs = []string{"secret()", "secret()", "secret()", "clock()", "send($e)", "fetch($e)", "send($e, to=$e)", "send(*[$e, $e])",
		"attempt(secret).ok", "attempt(secret).value", "attempt(send, body=$e).value", "attempt(secret).error",
		`parallel([(send, {"body": $e}), (secret, {})])[$p].value`, `parallel([(fetch, {"url": y}) for y in $s if $e])`,
		"str($e)", "len(str($e))", "($e if $e else $e)", "($e if $e else $e)", "($e and $e)", "($e or $e)", "($e == $e)",
		"(str($e) + str($e))", `"%s" % ($e,)`, `$d.get("k", $e)`, "$d.get(v0, $e)", "[$e, $e][$p]", "(not $e)",
		"(lambda y: $e)($e)", `{"k": $e}`, "($l or [0])[0]", "struct(v=$e, l=$s).v", "max($s + [0], key=lambda y: len(str(y)))",
		"max($s + [0], key=lambda y: len(str($e)))", "json.decode(json.encode(str($e)))", "$s", "$s"}

	calls = []string{"$f($e, $s)", "$f($e)", `$f(*[$e], **{"l": $s})`, "$r.f($e)", "$t0($e)"}

	lists = []string{"[$e, $e]", "[y for y in $s if $e]", "[$e for y in $s if y]", "($s + $s)", "($s if $e else $s)",
		"sorted($s, key=lambda y: str(y))", "sorted($s, key=lambda y: str($e))", "list($s)", "$r.l", `$d.setdefault("l", $s)`,
		"$s[$p:]", "[y for x in $s for y in [x, $e]]", "[$s, $s][len(str($e)) % 2]", "$l", "$l", "$l"}

	conds = []string{"secret()", "attempt(secret).ok", "attempt(secret).value", "$l", "$v", "$v", "$v", `$v == "a"`, "$e", "$e"}

	// core are the few things that flows are made of.
	core = []string{"send($n)", "send($n)", "send($v)", "send($l)", "send($l)", "$V = $v", "$V = secret()", "$V = clock()", "$V = $n",
		"$V = len($l)", "$L = $l", "$L = $l", "$L = []", "$L = [$l]", "$l.append($v)", "$l.append($l)", "$l.append($l)", "$l.append(1)",
		`[x.append($v) for x in $l if type(x) == "list"]`, `[x.append(1) for x in $l if type(x) == "list"]`,
		"$V = $f($v, $l)", "$L = [$f($v, $l)]", "$f($v, $l)", "f2(v0, $l)", "f2(1, $l)", "if $v: $l.clear()"}

	others = []string{"$V = $e", "$V = $e", "$L = $s", "$L = $s", "$D = $d", `$D = {"l": $s}`, `$D = {"l": [], "k": $e}`,
		"$s.append($e)", "$L += [$e]", `$d["k"] = $e`, `$d["l"] = $s`, "send($e)", "$V, $V = $e, $e", "$V, $V = [$e, $e]", "$F = $f",
		"$F = lambda x=1, l=[]: $e", `getattr($s, "append")($e)`, "$T = $s.append", "$T = $t", "$T = $f",
		"$T = [send, str][len(str($e)) % 2]", "$T = str", "$T = sorted", "$R = struct(v=$e, l=$s, f=$f)", `$d.update({"k": $e})`,
		`$d.pop("k", None)`, "send($e, to=$e)", "if $l: $l.pop()"}
)

// expr is any value.
func (g *generator) expr(d int) string {
	switch {
	case d <= 0:
		return g.fill(g.one(atoms...), 0)
	case g.intn(5) == 0 && (!g.inDef || g.intn(4) == 0): // functions that call functions only go over budget
		return g.fill(strings.Replace(g.one(calls...), "$t0", g.name("t"), 1), d)
	}
	return g.fill(g.one(exprs...), d)
}

// list is an expression for a list.
func (g *generator) list(d int) string {
	if d <= 0 {
		return g.fill(g.one("$l", "$l", "[]", `$d["l"]`), 0)
	}
	return g.fill(g.one(lists...), d)
}

// cond decides something; often by what varies, and nothing else.
func (g *generator) cond() string {
	if g.small && g.intn(2) == 0 {
		return "v0"
	}
	return g.fill(g.one(conds...), 2)
}

func (g *generator) simple() {
	if g.small && g.intn(6) != 0 {
		g.line(g.one(core...))
		return
	}
	g.line(g.one(others...))
}

// suite is the body of a compound statement.
func (g *generator) suite(d int, first string) {
	g.indent++
	if first != "" {
		g.line(first)
	}
	for range 1 + g.intn(3) {
		g.statement(d - 1)
	}
	g.indent--
}

func (g *generator) statement(d int) {
	g.budget--
	if d <= 0 || g.budget < 0 {
		g.simple()
		return
	}
	if !g.inDef && g.intn(16) == 0 {
		g.function(g.name("f"))
		return
	}
	switch g.intn(16) {
	case 0, 1, 2:
		g.line("if $c:")
		g.suite(d, "")
		if g.intn(2) == 0 {
			g.line("else:")
			g.suite(d, "")
		}
	case 3, 4:
		g.loop(d)
	case 5, 6, 7, 8:
		g.line("if $c: " + g.escape())
	default:
		g.simple()
	}
}

func (g *generator) escape() string {
	switch {
	case g.inLoop && g.intn(6) != 0:
		return g.one("break", "continue")
	case g.inDef && g.intn(6) != 0:
		return g.one("return", "return 1", "return $v", "return $l", "return $e")
	case g.intn(4) != 0:
		return "$V = $e"
	}
	return g.one(`fail("x")`, "final(1)", "[][9]", "attempt(final, value=1)")
}

func (g *generator) loop(d int) {
	was := g.inLoop
	g.inLoop = true
	g.loops++
	switch g.intn(3) {
	case 0:
		n := fmt.Sprintf("n%d", g.loops)
		g.line(n + " = 0")
		g.line("while " + n + " < 3 and $c:")
		g.suite(d, n+" += 1")
	case 1:
		g.line("for $V in range(3):")
		g.suite(d, "")
	default:
		g.line("for $V in list($s):")
		g.suite(d, "")
	}
	g.inLoop = was
}

// function defines f(x, l); inside, vx, lx and the like are locals.
func (g *generator) function(name string) {
	indent, inDef, inLoop, locals := g.indent, g.inDef, g.inLoop, g.locals
	if g.intn(4) == 0 {
		g.locals = []string{"vp", "l"}
		g.line(name + " = lambda vp=$p, l=[]: $e")
		g.locals = locals
		return
	}
	g.line("def " + name + "(vp=None, l=" + g.one("[]", "[1]") + "):")
	g.indent++
	g.line("lp = l")
	g.line("vx, lx, dx, tx = vp, " + g.one("[vp]", "lp", "[]") + `, {"l": lp}, ` + g.one("$t", "str"))
	g.line("fx = lambda vq=1, l=[]: " + g.one("vx", "lx.append(vx)", "lx", "send(vx)"))
	g.inDef, g.inLoop = true, false
	g.locals = []string{"vx", "lx", "vp", "lp", "fx", "dx", "tx"}
	for range 2 + g.intn(4) {
		g.statement(2)
	}
	if g.intn(3) != 0 {
		g.line("return $e")
	}
	g.indent, g.inDef, g.inLoop, g.locals = indent, inDef, inLoop, locals
}
