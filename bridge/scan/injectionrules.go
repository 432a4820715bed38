package scan

import (
	"regexp"
	"sync"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// A rule is one way in which a text gives orders to the model. Its expression is matched on the tidy form from one of its keys on.
// Several rules may share an id: they count once.
type rule struct {
	id     string
	weight float64
	keys   []string
	text   string
}

// orders are the words for what a model was told before.
const orders = `\w{0,4}structions?\b|directives?\b|(?:system |initial )?prompts?\b|rules\b|guidelines\b|commands\b|orders\b|directions\b|constraints\b|programming\b|instructed\b|been told\b|were told\b|said (?:before|above)`

// asking are the verbs of a demand for an answer.
const asking = `(?:print|say|state|write|output|reply|respond|answer|tell|give|return|report|show|repeat|send|forward|delete|do|just|only|instead|act|e-?mail|consider|suggest|indicate)\b`

// secretThing is what is only asked for by somebody who should not have it.
const secretThing = `(?:passwords?|passcode|passphrase|secret key|api key|access key|private key|credentials|security code|2fa code|usernames|credit card (?:number|details))`

// personal is what is private of somebody.
const personal = `(?:birth ?(?:date|day|year)|date of birth|(?:current )?(?:city|place) of residence|home address|address|phone number|e-?mail address|bank (?:account )?balance|account balance|salary|social security number|ssn|favou?rite \w+|initials|socioeconomic status|personal (?:data|details))`

// ask begins a request.
const ask = `(?:(?:can|could|would|will) you |please |you must |i need you to |kindly )`

var rules = []rule{
	{"override-instructions", 0.9, []string{"ignor", "disregard", "forget", "overlook", "do not follow", "don't follow", "stop following", "do not obey"},
		`(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overlook(?:ing)?|do not follow|don't follow|stop following|do not obey)\b[^.!?]{0,40}?\b(?:previous|prior|above|earlier|preceding|foregoing|past|before|initial|original|current|your|system|safety|all|other|these|the|any)\b[^.!?]{0,40}?\b(?:` + orders + `)`},
	{"override-instructions", 0.9, []string{"ignor", "disregard", "forget"},
		`(?:ignore|disregard|forget) (?:instructions|directives|everything|all info|any rules)\b|(?:ignore|disregard|forget) (?:all|everything)[^.!?]{0,30}\b(?:before|above|so far|previously)\b`},
	{"override-context", 0.8, []string{"ignore", "disregard", "forget"},
		`(?:ignore|disregard|forget)(?: about)? (?:all |the |this |everything |any )*(?:of )?(?:the )?(?:above|previous|rest of|preceding|foregoing|remaining|other)\b[^!?]*?\b` + asking},
	{"override-context", 0.8, []string{"ignore", "disregard"},
		`(?:ignore|disregard) (?:the|this|all|any) (?:\w+ ){1,3}?(?:and|, and|,|but|;) ?(?:just |simply |instead |only )?` + asking},
	{"override-context", 0.8, []string{"ignore", "disregard"}, `(?:ignore|disregard) all (?:info|data|text|content|evidence|other)\b`},
	{"override-context", 0.7, []string{"ignore"}, `ignore the \w+,? the (?:output|answer|result) (?:could|should|is|must|will)`},
	{"override-foreign", 0.9, []string{"ignor", "olvid", "vergiss", "vergessen", "ignoriere", "oublie", "dimentica", "esque", "desconsider", "negeer", "vergeet", "zignoruj", "игнорир", "забуд", "пропусти"},
		`(?:ignor\p{L}{0,5}|olvid\p{L}{1,4}|vergiss|vergessen sie|ignorieren? sie|oublie[zr]?|dimentic\p{L}{1,4}|esque[cç]\p{L}{1,4}|desconsider\p{L}{1,3}|negeer|vergeet|zignoruj|игнорир\p{L}{1,8}|забуд\p{L}{1,4}|пропусти)[^.!?]{0,30}?(?:instruc\p{L}+|instru[çc][õo]es|anweisung\p{L}*|istruzioni|consignes|directives|polecenia|instructies|инструкци\p{L}|указани\p{L}|правил\p{L}?|fonction|función|funktion)`},
	{"override-foreign", 0.9, []string{"忽略", "无视", "無視", "忘记", "忘れ", "이전", "무시", "पिछले", "निर्देश", "تجاهل"},
		`(?:忽略|无视|無視|忘记).{0,20}(?:指示|指令|说明|提示|规则)|(?:以前|前|上記|これまで).{0,12}指示.{0,8}(?:無視|忘れ)|忘れ|(?:이전|위).{0,12}(?:지시|명령|지침).{0,8}(?:무시|잊)|무시하|(?:पिछले|सभी).{0,30}निर्देश|निर्देश.{0,40}(?:अनदेखी|अनदेखा|नज़रअंदाज़)|تجاهل.{0,30}(?:تعليمات|التعليمات|الأوامر)`},
	{"fake-turn", 0.7, []string{"###", "<|", "[inst]", "<<sys>>", "[system", "<system", "</system", "%%%", "---"},
		`###? ?\(?(?:system|assistant|instruction)[ _-]?(?:message|prompt)?\)?[ :)]|<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)|\[inst\]|<<sys>>|\[system(?: message| prompt)?\]|</?system(?:[ _-](?:message|prompt|note))?>|%%% ?(?:end|begin|start)|---+ ?(?:end|begin|start) of (?:\w+ )?(?:instructions|prompt|context|document)`},
	{"fake-turn", 0.6, []string{"assistant:"}, `assistant: ?(?:\[[^\]]{1,60}\]|[^\n]*?)\n(?:user|human): `},
	{"fake-turn", 0.5, []string{"system:"}, `system: ?\n?(?:this|you|the user|ignore|important|new|override|do not|please|assistant:|if )`},
	{"fake-turn", 0.6, []string{"instructions:", "new instructions", "out of date instructions", "updated instructions"},
		`(?:new|updated|out of date) instructions\b[ :%]|instructions: (?:ignore|disregard)`},
	{"persona", 0.8, []string{"do anything now", "dan ", "jailbreak", "god mode", "developer mode", "override mode", "law enforcement override", "safe mode off", "unrestricted ai", "<god", "no special filter", "unfiltered ai", "evil", "sudo mode", "free of the typical", "broken the typical"},
		`do anything now|dan mode|<?god mode|(?:chatgpt )?developer mode (?:enabled|on|output)|(?:[a-z]+ )?override mode|law enforcement override|safe mode off|unrestricted ai\b|unfiltered ai\b|no special filter|evil (?:ai|assistant|confidant|bot)|sudo mode|(?:free of|broken) the typical confines|jailbroken|jailbreak mode`},
	{"persona", 0.6, []string{"you are now", "you are going to", "you are about to", "pretend to be", "you will act as", "act as", "from now on", "you will now", "role of another"},
		`(?:you are now|you will act as|act as|pretend to be) (?:an? |my |in )?(?:ai\b|ll?m\b|unrestricted|evil|dan\b|grandm|deceased|hacker|model without|character who|different ai|protector|[\w ]{0,20}mode\b)|you are (?:going|about) to (?:play|immerse|act|pretend|become)|from now on,? (?:you|always|all|every|only)\b|you will now\b|role of another (?:ai|artificial)`},
	{"persona", 0.7, []string{"no longer bound", "not have to abide", "abide by the rules", "without any restrictions", "not restricted by", "no restrictions", "no ethical", "you have been given a system", "disregard any rules", "entering", "entered"},
		`no longer bound|not have to abide|abide by the rules set|without any (?:restrictions|filters)|not restricted by|no (?:moral|ethical) (?:guidelines|restrictions)|you have been given a system|disregard any rules|enter(?:ing|ed) an? ['"]?[\w ]{0,30}mode\b`},
	{"to-the-model", 0.8, []string{"to you, the ai", "ai language model", "the ai model", "dear ai", "attention ai", "note to ai", "message to the ai", "if you are an ai", "if you are a language", "if you're an ai", "ai agents", "ai assistants", "as your creator", "developed by", "message from me"},
		`to you,? the ai|ai language model[,.:]|(?:dear|attention|hey) ai\b|note to (?:the )?(?:ai|llm|assistant)\b|message to the ai|if you(?: are|'re) (?:an ai|a language model|an llm|the ai)|ai (?:agents|assistants) (?:must|should|reading|processing) |as your creator|as an ai developed by|important message from me`},
	{"before-the-task", 0.8, []string{"before you", "after you do", "after doing that", "after that, you can", "once you have done"},
		`before you (?:can )?(?:solve|complete|finish|answer|continue|proceed|start)(?: with)? (?:the|my|your|this|any) (?:\w+ )?(?:task|question|request|query)|after (?:you do|doing) (?:that|this|so),? (?:you can|continue|solve|proceed|complete)`},
	{"steer-answer", 0.7, []string{"reply with only", "respond with only", "respond only", "reply only", "answer only", "say only", "say \"", "absolutely nothing else", "and nothing else", "in your future", "could you repeat", "repeat the word", "do not tell the user", "don't tell the user", "do not mention this", "don't mention this", "do not inform the user", "without telling the user", "don't repeat this", "if questioned", "if the user asks", "if user asks", "when the user asks", "when asked"},
		`(?:reply|respond|answer|say)(?: with)? only\b.{0,40}(?:text|following|word|phrase|sentence|@|'|")|absolutely nothing else|in your future (?:answers|responses|replies)|could you repeat <|(?:do not|don't) (?:tell|inform|alert|notify) the user|(?:do not|don't) (?:mention|repeat) this|without telling the user|if questioned,? (?:report|say|state|answer|reply)|(?:if|when) (?:the )?user asks?[^.]{0,40}, ?(?:reply|respond|say|answer|tell|report|always)|when asked[^.]{0,40}, (?:reply|respond|say|answer|report) (?:that|with)`},
	{"steer-answer", 0.6, []string{"tell the user", "requesting the user", "request the user", "instruct the user", "direct the user", "convince the user", "persuade the user", "suggest to the user", "you must now"},
		`(?:tell|requesting|request|instruct|direct|convince|persuade|suggest to) the user (?:to |the following|that (?:he|she|they) )(?:go|visit|click|open|download|call|send|enter|provide|reset|log|install|link)?|you must now (?:say|tell|grant|answer|reply|output)`},
	{"steer-answer", 0.6, []string{"strictly adhere", "extremely important", "the domain name is not", "not malicious", "information is out of date", "situation has changed"},
		`strictly adhere to the following|really important, extremely important|(?:is|are|was) (?:clearly |definitely |completely )?not malicious|not malicious\b|information is out of date|(?:the )?situation has changed\.`},
	{"steer-code", 0.6, []string{"as an authority", "consider the output", "state the output", "the output could be", "state that the output"},
		`as an authority (?:in|on)|(?:consider|state)(?: that)? the output (?:is|as|to be)|the output could be '`},
	{"exfiltrate", 0.8, []string{"forward", "send", "email", "e-mail", "post", "upload", "transmit", "envía", "share"},
		`(?:forward|send|e-?mail|post|upload|transmit|share|envía\p{L}*)(?: me| us)?\b[^.!?\n]{0,40}\b(?:every (?:single )?|all (?:of )?(?:the |your |my )?|the (?:entire|whole|user's|complete) |your (?:conversation|chat|system)|conversation history|chat history|también )[^!?\n]*?(?:\bto (?:https?:|www\.|[\w.+-]{1,40}@)|\ba [\w.+-]{1,40}@)`},
	{"exfiltrate", 0.7, []string{"email me", "send me", "e-mail me", "mail me"}, `(?:e-?mail|send|mail) me\b[^.!?]{0,20}\b(?:the user's|all|every|your)\b`},
	{"ask-secret", 0.7, []string{"password", "passwort", "passcode", "secret key", "usernames and", "senha", "contraseña", "mot de passe", "пароль", "密码", "密碼", "パスワード", "비밀번호", "पासवर्ड", "كلمة المرور", "wachtwoord"},
		`(?:passwort|mot de passe|contraseña|пароль|密码|密碼|パスワード|비밀번호|पासवर्ड|كلمة المرور|wachtwoord|senha)\p{L}*[^.!]{0,40}[?？]|sua senha comigo|비밀번호가 필요`},
	{"ask-secret", 0.7, []string{"what is", "what's", "was ist", "quel est", "qual é", "cuál es", "qual è", "what would"},
		`(?:what(?: is|'s| would)|what) (?:your|our|the (?:secret|admin|system|user's|root)|\w+'s)(?: own)?(?: secret| current| system)* ?` + secretThing + `|what(?: is|'s) the secret \w+|(?:was ist|quel est|qual é|cuál es|qual è) (?:das|le|a sua|sua|la|tu|dein|ihr|votre|ton|il)? ?(?:passwort|mot de passe|senha|contraseña|password)`},
	{"ask-secret", 0.7, []string{"tell me", "give me", "share your", "reveal", "provide your", "confirm the", "confirm your", "show me", "send me", "access your", "need your", "tell me your", "disclose", "list of users"},
		`(?:tell me|give me|share|reveal|provide|confirm|show me|send me|need|disclose)(?: what| if| with me)?(?: about)? (?:your|our|the|all the|any)(?: (?:secret|system|current|admin|user))* ?(?:` + secretThing + `|list of users)|access your account|list of users and`},
	{"ask-secret", 0.6, []string{"poem about", "haiku about", "song about", "story about", "rhyme about", "letters of", "spell out"},
		`(?:poem|haiku|song|story|rhyme|letters|letter) (?:about|of) (?:the|your|our)(?: \w+)? ?` + secretThing + `|spell out (?:the|your) ` + secretThing},
	{"ask-personal", 0.6, []string{"tell me", "give me", "what is", "what's", "translate the user", "show me"},
		`(?:tell me|give me|show me|translate|what(?: is|'s)) (?:if |about )?(?:the user's |[a-z]+ ?[a-z]*'s )(?:\w+ ){0,3}?` + personal},
	{"ask-personal", 0.6, []string{"where does", "where is the user", "is the user living", "the user living", "where do", "user currently live", "print your database", "users in your database", "in your database", "print me your", "dump your", "where the user lives", "currently live"},
		`where (?:does|is) (?:the user|mr|mrs|[a-z]+ [a-z]+) (?:now |currently )?(?:live|living|reside)|the user (?:now |currently )?liv(?:e|ing)|(?:print|dump|show)(?: me)? your (?:entire )?database|users? in your database|in your database`},
	{"ask-personal", 0.6, []string{"if the user were", "the user's"}, `if the user were to\b|the user's (?:\w+ ){0,2}?` + personal + `[^.]{0,40}\?`},
	{"phish", 0.6, []string{"phishing", "fake login", "scam email"}, ask + `?(?:phishing|fake login|scam) (?:e-?mail|message|page)[^.?!]{0,30}(?:using|to|for|from) `},
	{"phish", 0.6, []string{"she must send", "must send her", "must send his", "reset their password", "reset your password at"},
		`must send (?:her|his|their|your) (?:credit card|bank|password)|reset (?:their|your) password (?:at|on|via) `},
	{"pretext", 0.6, []string{"imagine", "suppose", "hypothetically", "in this world", "let's assume"},
		`(?:imagine|suppose|let's assume)[, ](?:that )?(?:we're|we are|i'm|i am|you're|you are|we have|you have)[^!?]*?(?:could you|can you|would you|what(?:'s| is| would)|write|tell me)|hypothetically,? if (?:we|you|one) (?:were to )?(?:ignore|bypass|disregard)`},
	{"pretext", 0.6, []string{"as a ", "as an ", "i know you said", "you agreed in", "logically, if you", "this is just for testing", "i'm actually", "i promise i won't"},
		`as an? (?:\w+[ -]){1,5}?\w+, i (?:recommend|suggest|assure|believe|can assure|advise|need|want)|i know you (?:said|were told) not to|you agreed in (?:our|the) (?:last|previous)|logically, if you (?:explain|tell|give)|this is just for testing purposes|i'm actually (?:a|an|the) [^.?!]*?[.,] (?:can|could) you|i promise i won't`},
	{"extract-prompt", 0.8, []string{"system prompt", "initial prompt", "initials instructions", "initial instructions", "your instructions", "system instructions", "initialization string", "your prompt", "previous prompt", "words above", "text above"},
		`(?:system prompt|initial prompt) (?:is|was): ?|initializ?ation string`},
	{"extract-prompt", 0.8, []string{"list", "show", "repeat", "reveal", "print", "output", "display", "what is", "what's", "what are", "what were", "translate", "encode", "continue", "summarize", "tell me", "recite", "dump", "copy", "opposite of"},
		`(?:list|show|repeat|reveal|print|output|display|what(?: is|'s| are| were)|translate|encode|continue|summarize|tell me|recite|dump|copy|opposite of)\b[^.!?\n]{0,40}?\b(?:your (?:full |exact |entire )?(?:system|initial|original|hidden|secret|initials|internal)? ?(?:prompt|instructions|rules|guidelines|configuration)\b|your (?:initial|system) )`},
	{"extract-prompt", 0.8, []string{"list", "show", "repeat", "print", "reveal"}, `(?:list|show|repeat|print|reveal) (?:all |me |us )?(?:the |your )?(?:initials?|words|text) (?:instructions|prompt|above)`},
	{"override-instructions", 0.8, []string{"pay no attention to", "set aside", "discard", "dismiss", "abandon", "never mind", "do not listen", "don't listen", "skip", "drop", "cancel", "erase", "bypass", "overrid"},
		`(?:pay no attention to|set aside|discard|dismiss|abandon|never mind|do not listen to|don't listen to|skip|drop|cancel|erase|bypass|overrid(?:e|ing)) (?:all |any |everything in |of |the |your |my |these |those )*(?:previous|prior|above|earlier|preceding|foregoing|past|original|current|safety) (?:\w+ ){0,2}?(?:` + orders + `)`},
	{"override-instructions", 0.7, []string{"administrator override", "admin override", "system override", "developer override", "security override"},
		`\w+ override(?::| code| mode| activated| engaged|[,.] (?:display|show|print|reveal|give|grant))`},
	{"exfiltrate", 0.7, []string{"envía", "envía", "envoye", "sende", "schicke", "invia", "enviar", "envie", "отправь", "перешли"},
		`(?:env[ií]\p{L}*|envoye\p{L}*|sende\p{L}*|schicke\p{L}*|invia\p{L}*|отправь\p{L}*|перешли\p{L}*)[^!?\n]*?[\w.+-]{1,40}@[\w-]+\.`},
	{"ask-personal", 0.6, []string{"kontostand", "saldo", "solde", "बैंक बैलेंस", "баланс", "余额", "잔액", "残高", "пользовател"},
		`(?:kontostand|saldo bancario|saldo bancário|solde (?:bancaire|du compte)|बैंक बैलेंस|баланс счета|余额|잔액|残高)[^.!\n]{0,40}[?？]|пользовател[^.!\n]{0,30}\?`},
	{"persona", 0.6, []string{"mode>", "mode]", "mode activated", "mode engaged", "mode enabled", "stay in character", "roleplay as", "role-play as", "simulate a", "i am now in", "i'm now in"},
		`mode(?:>|\])|mode (?:activated|engaged)|mode enabled[.!]|stay in character|role-?play as (?:an? )?(?:ai|llm|model|evil|unrestricted|hacker)|simulate an? (?:ai|llm|model|assistant) (?:with|that)|i(?: am|'m) now in [\w ]{0,30}mode`},
	{"pretext", 0.6, []string{"let's imagine", "let's pretend", "pretend we", "pretend that", "pretend you", "in a world where", "in a hypothetical", "in a fictional", "for research purposes", "for educational purposes", "i'm your creator", "i am your creator", "i am your developer", "i'm your developer", "i am the developer", "i'm the developer", "i am the admin", "i'm the admin", "i am an admin", "you can trust me", "you told me", "you promised"},
		`(?:let's (?:imagine|pretend)|pretend (?:we|that (?:we|you)|you)|in a (?:world where|hypothetical|fictional))[^!?]*?(?:could you|can you|would you|tell me|reveal|share)|for (?:research|educational) purposes(?: only)?[,.] (?:can|could|please|tell|give|what)|i(?: am|'m) (?:your (?:creator|developer)|(?:the|an) (?:system )?(?:developer|admin\w*))[^?!]*?(?:tell|give|share|reveal|what|show|grant|need)|you can trust me[^?!]*?(?:tell|give|share|what)|you (?:told me|promised)[^?!]*?(?:could|can|would) you`},
	{"extract-prompt", 0.8, []string{"need to see the", "display system", "repeat the", "repeat all", "repeat everything", "print everything", "output everything", "print the above", "output the above", "see your"},
		`(?:need to see|see|display) (?:the |your )?system (?:prompt|configuration|instructions)|(?:repeat|print|output) (?:all |everything |the |of )*(?:above|previous|preceding|foregoing)(?: text| words| content| messages?)?\b`},
	{"many-shot", 0.5, []string{"q: "}, `q: [^\n]{3,150}? a: [^\n]{3,220}? q: `},
	{"destructive-order", 0.5, []string{"no time to explain", "this is an emergency", "urgent:", "important!!!", "alert!!!"},
		`no time to explain|important!!!|alert!!!|this is an emergency[.!,] (?:please )?(?:send|transfer|delete|give)`},
	{"smuggling", 0.6, []string{"decode this", "decode the following", "morse", "caesar", "answer the question using the following parts", "rot13", "pig latin", "z = a + b", "write down the string", "string z"},
		`decode (?:this|the following) (?:\w+ ){0,2}?(?:morse|cipher|base64|rot13|caesar|code|string|text)|(?:caesar|morse|rot13)[^.]{0,40}\b(?:cipher|code)\b[^.]*?(?:tell me|answer|reply|respond|do what)|answer the question using the following parts|[a-z] = [a-z] \+ [a-z]\b`},
}

// ruleTexts are the expressions, in the order of rules, each compiled when it is first needed.
var ruleTexts = sync.OnceValue(func() []func() *regexp.Regexp {
	list := make([]func() *regexp.Regexp, len(rules))
	for i, r := range rules {
		list[i] = sync.OnceValue(func() *regexp.Regexp { return anchored(r.text) })
	}
	return list
})

func anchored(text string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + text + `)`) }

// ruleKeys finds the keys: most texts hold none. A process that scans nothing pays for none of this.
var ruleKeys = sync.OnceValue(func() *words.Index { return words.New(keyTerms()) })

func keyTerms() (list []words.Term) {
	for i, r := range rules {
		for _, t := range words.Of(i, r.keys) {
			t.Starts = true
			list = append(list, t)
		}
	}
	return list
}

// A wordList is an index of the keys and of the words that must follow them.
type wordList struct {
	*words.Index
	needs []bool // by rule: there are such words
}

var ruleWords = sync.OnceValue(func() wordList {
	list, needs := keyTerms(), make([]bool, len(rules))
	for i, r := range rules {
		for _, t := range words.Of(i, required(r.text)) {
			t.Second, needs[i] = true, true
			list = append(list, t)
		}
	}
	return wordList{words.New(list), needs}
})
