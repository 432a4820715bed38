package egress

import (
	"context"
	"net"
	"slices"
	"strings"
)

// webPorts are the ports that DialContext reaches. It cannot see what is spoken on a connection, and on others wait servers of
// mail, of databases and of shells.
var webPorts = []string{"80", "443"}

// DialContext connects to "host:port" with every check of Do: the host is written in one way only, it is among AllowedDomains,
// none of its addresses is forbidden, and the host's rate has room. The port is 80, 443 or one that Config.Allow names. It is for
// a proxy in front of a program that nobody trusts; what goes over the connection is not looked at. Config.Timeout bounds the
// connecting alone.
func (c *Client) DialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return nil, refuse("", "only TCP is dialled")
	}
	host, port, err := splitDial(hostport)
	if err != nil {
		return nil, err
	}
	if err := c.admit(host); err != nil {
		return nil, err
	}
	if !slices.Contains(webPorts, port) && !c.excepted(host, port) {
		return nil, refuse(host, "the port "+port+" is not for the web; use 80 or 443, or ask the operator to allow "+net.JoinHostPort(host, port))
	}
	if err := c.meter.take(host); err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx, network, net.JoinHostPort(host, port))
	if err != nil {
		return nil, outcome("dial "+host, err)
	}
	return conn, nil
}

// splitDial reads "host:port" as strictly as ParseURL reads that part of a URL.
func splitDial(hostport string) (host, port string, err error) {
	if err := readable(hostport); err != nil {
		return "", "", err
	}
	_, _, hasPort := cutPort(hostport)
	switch {
	case strings.Contains(hostport, "@"):
		return "", "", refuse("", userinfo)
	case !hasPort || strings.ContainsAny(hostport, "/?#"):
		return "", "", refuse("", "want host:port, as in example.com:443")
	}
	return hostPort(hostport, "https")
}
