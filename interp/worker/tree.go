package worker

import "go.starlark.net/syntax"

// children returns the parts of n, so that a walk needs no recursion (syntax.Walk has it).
func children(n syntax.Node) []syntax.Node {
	switch n := n.(type) {
	case *syntax.File:
		return nodes(n.Stmts)
	case syntax.Stmt:
		return stmtChildren(n)
	case syntax.Expr:
		return exprChildren(n)
	case *syntax.ForClause:
		return nodes([]syntax.Expr{n.Vars, n.X})
	case *syntax.IfClause:
		return []syntax.Node{n.Cond}
	}
	return nil
}

func stmtChildren(n syntax.Stmt) []syntax.Node {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		return []syntax.Node{n.LHS, n.RHS}
	case *syntax.DefStmt:
		return append(nodes(n.Params), nodes(n.Body)...)
	case *syntax.ExprStmt:
		return []syntax.Node{n.X}
	case *syntax.IfStmt:
		return append([]syntax.Node{n.Cond}, append(nodes(n.True), nodes(n.False)...)...)
	case *syntax.ForStmt:
		return append([]syntax.Node{n.Vars, n.X}, nodes(n.Body)...)
	case *syntax.WhileStmt:
		return append([]syntax.Node{n.Cond}, nodes(n.Body)...)
	case *syntax.ReturnStmt:
		return nodes([]syntax.Expr{n.Result})
	}
	return nil // break, continue, pass, load: no parts that nest
}

func exprChildren(n syntax.Expr) []syntax.Node {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		return []syntax.Node{n.X, n.Y}
	case *syntax.CallExpr:
		return append([]syntax.Node{n.Fn}, nodes(n.Args)...)
	case *syntax.Comprehension:
		return append([]syntax.Node{n.Body}, n.Clauses...)
	case *syntax.CondExpr:
		return []syntax.Node{n.Cond, n.True, n.False}
	case *syntax.DictEntry:
		return []syntax.Node{n.Key, n.Value}
	case *syntax.DictExpr:
		return nodes(n.List)
	case *syntax.DotExpr:
		return []syntax.Node{n.X}
	case *syntax.IndexExpr:
		return []syntax.Node{n.X, n.Y}
	case *syntax.LambdaExpr:
		return append(nodes(n.Params), n.Body)
	case *syntax.ListExpr:
		return nodes(n.List)
	case *syntax.ParenExpr:
		return []syntax.Node{n.X}
	case *syntax.SliceExpr:
		return nodes([]syntax.Expr{n.X, n.Lo, n.Hi, n.Step})
	case *syntax.TupleExpr:
		return nodes(n.List)
	case *syntax.UnaryExpr:
		return nodes([]syntax.Expr{n.X})
	}
	return nil // identifiers and literals
}

// nodes drops the optional parts that are absent.
func nodes[N syntax.Node](list []N) []syntax.Node {
	out := make([]syntax.Node, 0, len(list))
	for _, n := range list {
		if any(n) != nil {
			out = append(out, n)
		}
	}
	return out
}
