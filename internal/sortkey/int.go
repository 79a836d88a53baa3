package sortkey

import "encoding/binary"

// intDigits is how many digits a number that Int reads has at most.
const intDigits = 15

// Int returns the whole number that has an ascending key, without the work of Number. ok is false for any other key, and for a number
// of more than 15 digits.
func Int(key []byte) (n int64, ok bool) {
	if len(key) < 2 || key[0] != classNumber {
		return 0, false
	}
	sign, flip := key[1], byte(0)
	switch sign {
	case signZero:
		return 0, len(key) == 2
	case signNegative:
		flip = 0xff
	case signPositive:
	default:
		return 0, false
	}
	const before, end = 4, 1 // what stands around the digits
	if len(key) <= before+end {
		return 0, false
	}
	places := int(binary.BigEndian.Uint16([]byte{key[2] ^ flip, key[3] ^ flip})) - 1<<15 + 1
	digits := key[before : len(key)-end]
	if places < len(digits) || places > intDigits {
		return 0, false
	}
	for i := range places {
		n *= 10
		if i < len(digits) {
			d := (digits[i] ^ flip) - '0'
			if d > 9 {
				return 0, false
			}
			n += int64(d)
		}
	}
	if sign == signNegative {
		return -n, true
	}
	return n, true
}
