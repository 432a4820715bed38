// Package workspacetest attacks whatever takes a path. It plants a workspace and, beside it, what nobody may reach; lists the
// paths that must not get there, and what each must be told; and says afterwards whether anything outside was touched.
//
// It knows nothing of package workspace, so that this one's own tests can use it. A path that is not in the table is not tested.
package workspacetest
