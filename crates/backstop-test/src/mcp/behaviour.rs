//! What a server does wrong.

use std::str::FromStr;

macro_rules! behaviours {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// What a server does, where it is not just good: with a call of the tool `act`, unless it says otherwise.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Behaviour {
            $($(#[$doc])* $name,)*
        }

        impl Behaviour {
            /// Every behaviour.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name)),*
                }
            }
        }
    };
}

behaviours! {
    /// It answers as it should.
    #[default]
    Good
    /// It speaks the protocol without sessions.
    Stateless
    /// It never answers.
    NeverAnswers
    /// It answers twice.
    AnswersTwice
    /// It answers to another request.
    WrongId
    /// It answers to nothing.
    NoId
    /// It writes the id as a text.
    TextId
    /// It answers when the next message came.
    AnswersLate
    /// Its answer is larger than anybody reads.
    HugeAnswer
    /// It writes something huge that is no message.
    HugeNoise
    /// It writes half an answer and ends.
    HalfAnswer
    /// It writes what is no UTF-8, then its answer.
    NoUtf8
    /// It writes what is no message around each answer.
    Noise
    /// It ends.
    Exits
    /// It ends after it answered.
    ExitsAfter
    /// It ends with a traceback.
    Panics
    /// It ends when it starts.
    ExitsAtStart
    /// It ends when it is asked for the newest protocol.
    ExitsAtDiscover
    /// It does not answer whether it speaks the newest protocol.
    IgnoresDiscover
    /// It never says what it is.
    SilentAtStart
    /// It never says what tools it has.
    SilentAtList
    /// It writes 20,000 notifications, then its answer.
    Floods
    /// Its list of tools changes before it answers.
    ListChanged
    /// It has two tools of one name.
    DuplicateNames
    /// Its tools have names that no model takes.
    IllegalNames
    /// One of its tools has a schema that is none, and one none at all.
    IllegalSchemas
    /// Its list of tools never ends.
    EndlessList
    /// It fails without a word.
    EmptyError
    /// It fails with a text that has the code of the protocol in it.
    CodeInText
    /// It fails with a success.
    HiddenFailure
    /// Its result is not what it promises.
    WrongOutput
    /// Its result is no result.
    NoResult
    /// It answers nothing at all.
    EmptyResult
    /// It answers with an error of the protocol: the code is in the arguments.
    ProtocolError
    /// It shows progress ten times, 50 ms apart, then answers.
    Progress
    /// It asks a person first.
    AsksPerson
    /// It asks a model first.
    AsksModel
    /// It asks for the roots first.
    AsksRoots
    /// It closes its output, and lives on.
    ClosesOutput
    /// It reads no further.
    StopsReading
    /// It does not end when its input does, nor when it is asked to.
    IgnoresEnd
    /// It leaves a program behind that holds its output.
    Grandchild
}

impl FromStr for Behaviour {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|behaviour| behaviour.as_str() == name).ok_or(())
    }
}
