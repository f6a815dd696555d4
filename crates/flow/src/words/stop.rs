//! Common words that occur in every text: English, German, French, Spanish, Arabic.

use std::collections::HashSet;
use std::sync::LazyLock;

static STOP: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    [ENGLISH, GERMAN, FRENCH, SPANISH, ARABIC].into_iter().flat_map(str::split_whitespace).collect()
});

/// Whether a word, in lower case, is one of them.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

const ENGLISH: &str = "a about after again all also am an and any are aren't as at be because been before being both but by can \
    can't cannot could couldn't did didn't do does doesn't doing don't dont down during each even ever every few for from \
    further get gets getting go got had hadn't has hasn't have haven't having he he's her here here's hers him his how i i'd \
    i'll i'm i've if im in into is isn't it it's its itself just let let's many may me might more most much must my myself no \
    nor not of off on once one only or other our ours out over own per quite rather really same shall she should shouldn't \
    since so some such than that that's the their theirs them then there there's these they they're they've this those through \
    to too two under until up upon us use used using very via was wasn't we we'd we'll we're we've were weren't what what's when \
    where which while who who's whom why will with within without won't would wouldn't yet you you'd you'll you're you've \
    your yours";

const GERMAN: &str = "aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei beim bin \
    bis bist da dabei dadurch daher damit dann das dass daß dazu dein deine deinem deinen deiner dem den denn der deren des \
    dessen deshalb die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines einige er es \
    etwas euch euer eure für ganz gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre \
    ihrem ihren ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können \
    könnte machen mal man manche mehr mein meine meinem meinen meiner mich mir mit muss müssen nach nicht nichts noch nun nur \
    ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und \
    uns unser unsere unter viel vom von vor wann war waren warum was weil weiter welche welcher wenn wer werde werden wie \
    wieder will wir wird wo würde würden zu zum zur zwar zwischen";

const FRENCH: &str = "à ai aie ainsi alors après as au aucun aussi autre autres aux avant avec avez avoir avons c'est ça car ce \
    ceci cela celle celui ces cet cette ceux chaque chez ci comme comment d'un d'une dans de des deux donc du elle elles en encore \
    entre est et étaient était étant été être eu eux faire fait fois font hors il ils j'ai j'aime je jusqu'à l'on la là le les leur leurs \
    lui ma mais me même mes moi mon n'a n'est ne ni non nos notre nous on ont ou où par parce pas peu peut plus pour pourquoi qu'il \
    qu'on quand que quel quelle quelles quels qui quoi s'il sa sans se sera ses si sien soit son sont sous sur ta te tes toi ton \
    tous tout toute toutes très trop tu un une vers vos votre vous y";

const SPANISH: &str = "al algo algunas algunos ante antes así aún cada como cómo con contra cual cuál cuando cuándo de del desde \
    donde dónde dos durante e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está están estas este esto \
    estos estoy fue fueron ha había hace hacer han has hasta hay he la las le les lo los más me mi mí mis mucho muchos muy nada ni \
    no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque pues que qué quien quién se sea ser si sí \
    sido sin sobre solo sólo son soy su sus también tan tanto te tener tengo ti tiene tienen todo todos toda todas tu tú tus un una \
    unas uno unos usted ustedes va vez y ya yo";

const ARABIC: &str = "في من على إلى الى عن مع هذا هذه ذلك تلك هو هي هم نحن أنا انا أنت انت أنتم كان كانت يكون تكون ليس لا لم لن ما \
    ماذا متى أين اين كيف لماذا هل أو او أم ثم بل لكن ولكن إن ان أن إذا اذا لو قد كل بعض أي اي غير بين بعد قبل عند حتى منذ حيث كما \
    التي الذي الذين اللذان له لها لهم لي لك لنا به بها بهم فيه فيها منه منها عليه عليها إليه و ف يا أيضا ايضا جدا فقط هناك هنا كانوا \
    وهو وهي ومن وفي وعلى وما ولا وقد وأن فإن مثل أكثر اكثر دون سوف";
