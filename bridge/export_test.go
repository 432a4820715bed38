package bridge

// Without takes one gate or step out of b.
func Without(b *EffectBridgeAdapter, name string) { b.testOnlyWithout = name }

// Controls names every gate and every step, in the order of the walk.
func Controls() []string {
	var names []string
	for _, s := range walk {
		if s.name != "gates" {
			names = append(names, s.name)
			continue
		}
		for _, g := range gates {
			names = append(names, g.name)
		}
	}
	return append(names, "wrap")
}
