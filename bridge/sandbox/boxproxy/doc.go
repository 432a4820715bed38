// Package boxproxy lets a box without a network reach the hosts that the operator listed: a forwarder in the box, a socket with a path,
// and a proxy on the host that speaks HTTP (CONNECT, and whole http URLs) and dials by the function that it is given.
//
// It judges no address: that is for this function. What goes through a CONNECT is not looked at, so a host that is listed can be told
// everything that the box knows.
package boxproxy
