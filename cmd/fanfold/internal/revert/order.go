package revert

import "slices"

// order returns the steps in the order in which they are written: documents that are changed or come back, targets before holders, and
// documents to be deleted, holders before targets.
func (p *Plan) order() (puts, deletes []int) {
	for _, i := range p.targetsFirst() {
		if p.steps[i].op == "create" {
			deletes = append(deletes, i)
		} else {
			puts = append(puts, i)
		}
	}
	slices.Reverse(deletes)
	return puts, deletes
}

// targetsFirst returns all steps, each after the steps of the documents that it refers to, unless they refer to it in turn.
func (p *Plan) targetsFirst() (order []int) {
	type visit struct{ step, next int }
	seen := make([]bool, len(p.steps))
	for first := range p.steps {
		if seen[first] {
			continue
		}
		seen[first] = true
		for path := []visit{{step: first}}; len(path) > 0; {
			at := &path[len(path)-1]
			targets := p.steps[at.step].targets
			if at.next == len(targets) {
				order = append(order, at.step)
				path = path[:len(path)-1]
				continue
			}
			target := targets[at.next]
			at.next++
			if !seen[target] {
				seen[target] = true
				path = append(path, visit{step: target})
			}
		}
	}
	return order
}
