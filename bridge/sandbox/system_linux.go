package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// systemDirs hold the programs and what they load. Nothing in them is of a user.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// systemFiles are what programs read of /etc. Not all of it: shadow, the keys of ssh and TLS and what operators put there stay out,
// which root could read.
var systemFiles = []string{
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/protocols", "/etc/services",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone", "/etc/os-release",
	"/etc/mime.types", "/etc/magic", "/etc/inputrc", "/etc/fonts", "/etc/perl", "/etc/java-8-openjdk", "/etc/java-11-openjdk",
	"/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/pki/tls/certs",
	"/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates/extracted", "/etc/crypto-policies",
}

// devices that programs need, where a box cannot have a /dev of its own.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// procFiles describe the machine and no process.
var procFiles = []string{"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems",
	"/sys/devices/system/cpu"}

// roots are what a box shows besides its own files, as they are: where a masked path could be seen.
func (c Config) roots(extra []string) (out []string) {
	for _, p := range slices.Concat([]string{c.Dir}, c.Read, extra, systemDirs, systemFiles) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// existing drops what is not there.
func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Lstat(p)
		return err != nil
	})
}
