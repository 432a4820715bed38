package scan

// lookalikes maps letters to the Latin letter that they look like: the Cyrillic and Greek ones, and some others, that occur in
// attacks (a selection of Unicode's confusables.txt, lower case).
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ҽ': 'e', 'ԍ': 'g', 'һ': 'h', 'і': 'i', 'ї': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm',
	'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y', 'ё': 'e', 'ү': 'y',
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ω': 'w', 'γ': 'y',
	'ı': 'i', 'ȷ': 'j', 'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ɪ': 'i', 'ɴ': 'n', 'ʀ': 'r', 'ѡ': 'w', 'ꜱ': 's', 'ᴛ': 't', 'ᴜ': 'u', 'ᴇ': 'e', 'ᴅ': 'd', 'ᴀ': 'a', 'ᴏ': 'o',
	'ɢ': 'g', 'ʟ': 'l', 'ᴘ': 'p', 'ᴍ': 'm', 'ᴋ': 'k', 'ʙ': 'b', 'ᴄ': 'c', 'ʏ': 'y', 'ɯ': 'm', 'ս': 'u', 'ո': 'n', 'օ': 'o', 'հ': 'h', 'ց': 'g', 'ø': 'o', 'đ': 'd', 'ł': 'l', 'ŧ': 't',
}
