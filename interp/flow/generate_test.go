package flow

import (
	"fmt"
	"strings"
)

// generator writes programs that mostly run: a variable's first letter says what it holds (v anything, l a list, d a
// dict whose "l" is a list, f a function of (x, l), r a struct of v, l and f, t a tool or function alias).
type generator struct {
	intn   func(n int) int
	out    strings.Builder
	indent int
	budget int // statements left
	locals []string
	inLoop bool
	inDef  bool
	fresh  int
	small  bool // little is tainted at the start
}

func (g *generator) one(of ...string) string { return of[g.intn(len(of))] }

func (g *generator) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("  ", g.indent))
	fmt.Fprintf(&g.out, format, args...)
	g.out.WriteByte('\n')
}

func (g *generator) name(kind string) string {
	if g.intn(3) == 0 {
		for _, l := range g.locals {
			if strings.HasPrefix(l, kind) {
				return l
			}
		}
	}
	return fmt.Sprintf("%s%d", kind, g.intn(3))
}

// writable is a name that the place may assign: a global only at top level.
func (g *generator) writable(kind string) string {
	if g.inDef {
		return kind + "x"
	}
	return g.name(kind)
}

// program returns the blocks of a run.
func (g *generator) program() []string {
	var blocks []string
	g.small = g.intn(4) != 0
	for i := range 1 + g.intn(3) {
		g.out.Reset()
		g.budget = 4 + g.intn(8)
		if i == 0 && g.small {
			g.line(`v0, v1, v2 = secret(), clock(), 0`)
			g.line("l0, l1, l2 = [], [1, 2], [secret()]")
			g.line(`d0, d1, d2 = {"l": []}, {"l": [3]}, {"l": [], "k": 1}`)
			g.line("f0, f1 = lambda vp=0, l=[]: vp, lambda vp=0, l=[]: l")
			if g.intn(2) == 0 {
				g.function("f2")
			} else {
				g.line("f2 = lambda vp=0, l=[]: l.append(vp)")
			}
			g.line("r0, r1, r2 = struct(v=1, l=[], f=f0), struct(v=v0, l=[1], f=f1), struct(v=2, l=[], f=f2)")
			g.line("t0, t1, t2 = str, len, str")
		} else if i == 0 {
			g.line(`v0, v1, v2 = "a", clock(), 0`)
			g.line("l0, l1, l2 = [], [1, 2], [%s]", g.call(1))
			g.line(`d0, d1, d2 = {"l": l0}, {"l": [3]}, {"l": [], "k": %s}`, g.call(0))
			for _, f := range []string{"f0", "f1", "f2"} {
				g.function(f)
			}
			g.line("r0, r1, r2 = [struct(v=v, l=l, f=f) for v, l, f in [(v0, l0, f0), (v1, l1, f1), (2, [], f2)]]")
			g.line("t0, t1, t2 = %s, %s, f0", g.tool(), g.tool())
		}
		for g.budget > 0 {
			g.statement(3)
		}
		blocks = append(blocks, g.out.String())
	}
	return blocks
}

func (g *generator) tool() string { return g.one("secret", "fetch", "clock", "send") }

func (g *generator) call(d int) string {
	switch g.intn(12) {
	case 0, 1, 2:
		return "secret()"
	case 3:
		return "clock()"
	case 4:
		return fmt.Sprintf("fetch(%s)", g.expr(d-1))
	case 5:
		return fmt.Sprintf("attempt(secret).%s", g.one("ok", "value", "error"))
	case 6:
		return fmt.Sprintf("attempt(send, body=%s).%s", g.expr(d-1), g.one("ok", "value", "error"))
	case 7:
		return fmt.Sprintf("send(%s, to=%s)", g.expr(d-1), g.expr(d-1))
	case 8:
		return fmt.Sprintf("send(*[%s, %s])", g.expr(d-1), g.expr(d-1))
	case 9:
		return fmt.Sprintf("parallel([(send, {\"body\": %s}), (%s, {})])[%d].value", g.expr(d-1), g.one("secret", "clock"), g.intn(2))
	case 10:
		return fmt.Sprintf("parallel([(fetch, {\"url\": y}) for y in %s if %s])", g.list(d-1), g.expr(d-1))
	}
	return fmt.Sprintf("send(%s)", g.expr(d-1))
}

// expr is any value.
func (g *generator) expr(d int) string {
	if d <= 0 {
		return g.one(`"a"`, "1", "0", "None", "[]", g.name("v"), g.name("v"), g.name("v"), g.name("l"), g.name("d"),
			"len("+g.name("l")+")", g.name("r")+".v")
	}
	e := func() string { return g.expr(d - 1) }
	n := g.intn(26)
	if g.inDef && n >= 10 && n <= 14 && g.intn(4) != 0 {
		n = 0 // functions that call functions that call functions only go over budget
	}
	switch n {
	case 0, 1, 2, 3:
		return g.call(d)
	case 4:
		return fmt.Sprintf("str(%s)", e())
	case 5:
		return fmt.Sprintf("len(str(%s))", e())
	case 6:
		return fmt.Sprintf("(%s if %s else %s)", e(), e(), e())
	case 7:
		return fmt.Sprintf("(%s %s %s)", e(), g.one("and", "or", "=="), e())
	case 8:
		return fmt.Sprintf("(str(%s) + str(%s))", e(), e())
	case 9:
		return fmt.Sprintf(`"%%s" %% (%s,)`, e())
	case 10:
		return fmt.Sprintf("%s(%s, %s)", g.name("f"), e(), g.list(d-1))
	case 11:
		return fmt.Sprintf("%s(%s)", g.name("f"), e())
	case 12:
		return fmt.Sprintf("%s(*[%s], **{\"l\": %s})", g.name("f"), e(), g.list(d-1))
	case 13:
		return fmt.Sprintf("%s.get(%s, %s)", g.name("d"), g.one(`"k"`, `"a"`, "v0"), e())
	case 14:
		return fmt.Sprintf("%s.f(%s)", g.name("r"), e())
	case 15:
		return fmt.Sprintf("[%s, %s][%d]", e(), e(), g.intn(2))
	case 16:
		return fmt.Sprintf("(not %s)", e())
	case 17:
		return fmt.Sprintf("(lambda y: %s)(%s)", e(), e())
	case 18:
		return fmt.Sprintf("{\"k\": %s}", e())
	case 19:
		return "(" + g.name("l") + " or [0])[0]"
	case 20:
		return fmt.Sprintf("struct(v=%s, l=%s).%s", e(), g.list(d-1), g.one("v", "l"))
	case 21:
		return fmt.Sprintf("max(%s, key=lambda y: len(str(%s)))", g.list(d-1)+" + [0]", g.one("y", e()))
	case 22:
		return fmt.Sprintf("%s(%s)", g.name("t"), e())
	case 23:
		return fmt.Sprintf("json.decode(json.encode(str(%s)))", e())
	}
	return g.list(d)
}

// cond decides something; often by what varies, and nothing else.
func (g *generator) cond() string {
	switch g.intn(8) {
	case 0:
		return g.one("secret()", "attempt(secret).ok", "attempt(secret).value")
	case 1:
		return g.name("l")
	case 2, 3:
		return g.name("v")
	case 4:
		return g.name("v") + ` == "a"`
	case 5:
		return g.expr(2)
	}
	return g.expr(1)
}

// list is an expression for a list.
func (g *generator) list(d int) string {
	if d <= 0 {
		return g.one(g.name("l"), g.name("l"), "[]", g.name("d")+`["l"]`)
	}
	e := func() string { return g.expr(d - 1) }
	switch g.intn(12) {
	case 0:
		return fmt.Sprintf("[%s, %s]", e(), e())
	case 1:
		return fmt.Sprintf("[%s for y in %s if %s]", g.one("y", e()), g.list(d-1), e())
	case 2:
		return fmt.Sprintf("(%s + %s)", g.list(d-1), g.list(d-1))
	case 3:
		return fmt.Sprintf("(%s if %s else %s)", g.list(d-1), e(), g.list(d-1))
	case 4:
		return fmt.Sprintf("sorted(%s, key=lambda y: str(%s))", g.list(d-1), g.one("y", "y", e()))
	case 5:
		return fmt.Sprintf("list(%s)", g.list(d-1))
	case 6:
		return g.name("r") + ".l"
	case 7:
		return fmt.Sprintf("%s.setdefault(\"l\", %s)", g.name("d"), g.list(d-1))
	case 8:
		return fmt.Sprintf("%s[%d:]", g.list(d-1), g.intn(2))
	case 9:
		return fmt.Sprintf("[y for x in %s for y in [x, %s]]", g.list(d-1), e())
	case 10:
		return fmt.Sprintf("[%s, %s][len(str(%s)) %% 2]", g.list(d-1), g.list(d-1), e())
	}
	return g.name("l")
}

// suite is the body of a compound statement.
func (g *generator) suite(d int, first ...string) {
	g.indent++
	for _, l := range first {
		g.line("%s", l)
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
	switch g.intn(16) {
	case 0, 1, 2:
		g.line("if %s:", g.cond())
		g.suite(d)
		if g.intn(2) == 0 {
			g.line("else:")
			g.suite(d)
		}
	case 3, 4:
		g.loop(d)
	case 5:
		if !g.inDef {
			g.function(g.name("f"))
			return
		}
		g.simple()
	case 6, 7:
		g.line("if %s: %s", g.cond(), g.escape())
	default:
		g.simple()
	}
}

func (g *generator) escape() string {
	if g.inLoop && g.intn(4) != 0 {
		return g.one("break", "continue")
	}
	if g.inDef && g.intn(4) != 0 {
		return "return " + g.expr(1)
	}
	if g.intn(3) != 0 {
		return fmt.Sprintf("%s = %s", g.writable("v"), g.expr(1))
	}
	return g.one(`fail("x")`, "final(1)", "v2 = l0[9]", "attempt(final, value=1)")
}

func (g *generator) loop(d int) {
	was := g.inLoop
	g.inLoop = true
	g.fresh++
	switch g.intn(3) {
	case 0:
		n := fmt.Sprintf("n%d", g.fresh)
		g.line("%s = 0", n)
		g.line("while %s < 3 and %s:", n, g.cond())
		g.suite(d, n+" += 1")
	case 1:
		g.line("for %s in range(3):", g.writable("v"))
		g.suite(d)
	default:
		g.line("for %s in list(%s):", g.writable("v"), g.list(2))
		g.suite(d)
	}
	g.inLoop = was
}

// function defines f(x, l); inside, vx, lx and the like are locals.
func (g *generator) function(name string) {
	if g.intn(4) == 0 {
		g.locals = append(g.locals, "vp", "l")
		g.line("%s = lambda vp=%s, l=%s: %s", name, g.one("0", "1"), "[]", g.expr(2))
		g.locals = g.locals[:len(g.locals)-2]
		return
	}
	was := *g
	g.line("def %s(vp=None, l=%s):", name, g.one("[]", "[1]"))
	g.indent++
	g.line("lp = l")
	g.line("vx, lx, dx, tx = vp, %s, {\"l\": lp}, %s", g.one("[vp]", "lp", "[]"), g.tool())
	g.line("fx = lambda vq=1, l=[]: %s", g.one("vx", "lx.append(vx)", "lx", "send(vx)"))
	g.inDef, g.inLoop = true, false
	g.locals = []string{"vx", "lx", "vp", "lp", "fx", "dx", "tx"}
	for range 1 + g.intn(4) {
		g.statement(2)
	}
	if g.intn(3) != 0 {
		g.line("return %s", g.expr(2))
	}
	g.indent, g.inDef, g.inLoop, g.locals = was.indent, was.inDef, was.inLoop, was.locals
}

func (g *generator) simple() {
	e := func() string { return g.expr(1 + g.intn(2)) }
	switch g.intn(32) {
	case 0, 1, 2:
		g.line("%s = %s", g.writable("v"), e())
	case 3, 4:
		g.line("%s = %s", g.writable("l"), g.list(2))
	case 5:
		g.line("%s = %s", g.writable("d"), g.one(g.name("d"), `{"l": `+g.list(1)+`}`, `{"l": [], "k": `+e()+`}`))
	case 6, 7:
		g.line("%s.append(%s)", g.list(1), e())
	case 8:
		g.line("%s += [%s]", g.writable("l"), e())
	case 9:
		g.line(`%s["k"] = %s`, g.name("d"), e())
	case 10:
		g.line(`%s["l"] = %s`, g.name("d"), g.list(2))
	case 11:
		g.line("send(%s)", e())
	case 24, 25:
		g.line("send(%d)", g.intn(9))
	case 26:
		g.line("if %s: %s.pop()", g.name("l"), g.name("l"))
	case 27, 28:
		g.line("send(%s)", g.name(g.one("v", "l", "d")))
	case 29:
		g.line("%s = %d", g.writable("v"), g.intn(3))
	case 30:
		g.line("%s = %s", g.writable("v"), g.name("v"))
	case 31:
		g.line("%s.%s", g.name("l"), g.one("clear()", "append(0)", "append("+g.name("v")+")", "append("+g.name("l")+")"))
	case 12:
		g.line("%s, %s = %s, %s", g.writable("v"), g.writable("v"), e(), e())
	case 13:
		g.line("%s, %s = [%s, %s]", g.writable("v"), g.writable("v"), e(), e())
	case 14:
		g.line("%s = %s", g.writable("f"), g.one(g.name("f"), "lambda x=1, l=[]: "+e()))
	case 15:
		g.line("getattr(%s, %s)(%s)", g.list(1), g.one(`"append"`, `"append"`, `"append"`, `"remove"`), e())
	case 16:
		g.line("%s = %s.append", g.writable("t"), g.list(1))
	case 17:
		g.line("%s(%s)", g.name("t"), e())
	case 18:
		g.line("%s = %s", g.writable("t"), g.one(g.tool(), g.name("f"), "[send, str][len(str("+e()+")) % 2]", "str", "sorted", "getattr"))
	case 19:
		g.line("%s = struct(v=%s, l=%s, f=%s)", g.writable("r"), e(), g.list(1), g.name("f"))
	case 20:
		g.line("[x.append(%s) for x in %s if type(x) == \"list\"]", e(), g.list(1))
	case 21:
		g.line("%s.update({\"k\": %s})", g.name("d"), e())
	case 22:
		g.line("%s.pop(%s, None)", g.name("d"), g.one(`"k"`, `"a"`))
	default:
		g.line("send(%s, to=%s)", e(), e())
	}
}
