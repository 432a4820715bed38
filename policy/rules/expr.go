package rules

import (
	"errors"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/celenv"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

var errNoExpr = errors.New("policy: no expression")

// An Expr is one condition outside a policy file, as the `when` of a lease. It is
// immutable and safe for concurrent use.
type Expr struct{ clause *clause }

// CompileExpr compiles a condition over the variables of a validation, without
// params and variables. Its errors are *[FileError]s under the given name, all at
// once.
func CompileExpr(src, name string) (*Expr, error) {
	t := source.Whole(source.New(name, src))
	if len(src) > celenv.MaxExpression {
		return nil, t.Fault(0, "the expression has %d bytes, more than %d", len(src), celenv.MaxExpression)
	}
	if strings.TrimSpace(src) == "" {
		return nil, t.Fault(0, "the expression is empty")
	}
	c := &compiler{env: celenv.Base()}
	k := c.clause(name, t, cel.BoolType)
	if len(c.errs) > 0 {
		return nil, multierror.Append(nil, c.errs...)
	}
	return &Expr{k}, nil
}

// Holds evaluates the condition. An error means no; so does a nil Expr, which is
// no condition that anybody wrote.
func (e *Expr) Holds(r policy.Request) (bool, error) {
	if e == nil {
		return false, errNoExpr
	}
	return newActivation(&r, nil).holds(e.clause)
}

// String is the condition as it was written.
func (e *Expr) String() string {
	if e == nil {
		return ""
	}
	return e.clause.text.S
}
