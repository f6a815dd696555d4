//! One e-mail over an open connection.
//!
//! A server that has the whole e-mail may take long to reply: it checks the content first, and a
//! client that gives up earlier causes a second e-mail (RFC 5321, 4.5.3.2). So that reply has a
//! separate limit.

use std::time::Duration;

use lettre::address::Address;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use sluice_engine::mail::SendError;

use super::{LATE, ReplyTo, refusal};

/// How long the server may take to accept the sender, the recipient and the beginning of the
/// content.
const ENVELOPE_MAX: Duration = Duration::from_secs(25);
/// How long it may take to read the content and to reply to its end.
const CONTENT_MAX: Duration = Duration::from_secs(10 * 60);
/// How long it may take to say goodbye.
const QUIT_MAX: Duration = Duration::from_secs(2);

pub(super) async fn hand_over(
    mut connection: AsyncSmtpConnection,
    from: Address,
    to: Address,
    content: &[u8],
) -> Result<(), SendError> {
    let envelope = send_envelope(&mut connection, from, to, content.is_ascii());
    let accepted = match tokio::time::timeout(ENVELOPE_MAX, envelope).await {
        Ok(accepted) => accepted,
        Err(_) => return Err(SendError::Unreachable(LATE.to_owned())),
    };
    let outcome = match accepted {
        Ok(()) => match tokio::time::timeout(CONTENT_MAX, connection.message(content)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) if error.status().is_some() => Err(refusal(&error, ReplyTo::Content)),
            // The connection was lost after the content, or part of it, was sent.
            Ok(Err(_)) => return Err(SendError::Unanswered),
            Err(_) => return Err(SendError::Unanswered),
        },
        refused => refused,
    };
    // The outcome is known: whether the server says goodbye changes nothing.
    let _ = tokio::time::timeout(QUIT_MAX, connection.abort()).await;
    outcome
}

async fn send_envelope(
    connection: &mut AsyncSmtpConnection,
    from: Address,
    to: Address,
    is_ascii: bool,
) -> Result<(), SendError> {
    let supports = |extension| connection.server_info().supports_feature(extension);
    let mut parameters = Vec::new();
    let address: &str = to.as_ref();
    if !address.is_ascii() {
        if !supports(Extension::SmtpUtfEight) {
            return Err(SendError::Bounced("no SMTPUTF8".to_owned()));
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !is_ascii {
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let refused = |reply_to| move |error| refusal(&error, reply_to);
    let sender = connection.command(Mail::new(Some(from), parameters)).await;
    sender.map_err(refused(ReplyTo::Session))?;
    let recipient = connection.command(Rcpt::new(to, Vec::new())).await;
    recipient.map_err(refused(ReplyTo::Recipient))?;
    connection.command(Data).await.map_err(refused(ReplyTo::Content))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::SocketAddr;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use lettre::transport::smtp::client::AsyncTokioStream;
    use lettre::transport::smtp::extension::ClientId;
    use tokio::io::{
        AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
        ReadBuf, duplex, split,
    };
    use tokio::time::{Instant, sleep};

    use super::super::CLOSED;
    use super::*;

    /// A connection within the process, so that the clock of the runtime can be paused.
    #[derive(Debug)]
    struct Pipe(DuplexStream);

    impl AsyncRead for Pipe {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, buffer)
        }
    }

    impl AsyncWrite for Pipe {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    impl AsyncTokioStream for Pipe {
        fn peer_addr(&self) -> io::Result<SocketAddr> {
            Ok(SocketAddr::from(([127, 0, 0, 1], 25)))
        }
    }

    /// A server that closes the connection when it gets this line.
    async fn close_at(stream: DuplexStream, last: &'static str) {
        let (read, mut write) = split(stream);
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 mail.test\r\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            let reply: &[u8] = match line.split(' ').next().unwrap_or_default() {
                word if word == last => return,
                "DATA" => b"354 go on\r\n",
                "EHLO" | "MAIL" | "RCPT" => b"250 OK\r\n",
                _ => continue,
            };
            write.write_all(reply).await.unwrap();
        }
    }

    /// A mail server that answers the command `refused` with `with`.
    async fn refuse_at(stream: DuplexStream, refused: &'static str, with: &'static str) {
        let (read, mut write) = split(stream);
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 mail.test\r\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            let reply = match line.split(' ').next().unwrap_or_default() {
                word if word == refused => with,
                "DATA" => "354 go on\r\n",
                "EHLO" | "MAIL" | "RCPT" | "." | "QUIT" => "250 OK\r\n",
                _ => continue,
            };
            if write.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// A server that takes this many seconds before its reply to the recipient and to the content.
    async fn serve(stream: DuplexStream, to_recipient: u64, to_content: u64) {
        let (read, mut write) = split(stream);
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 mail.test\r\n").await.unwrap();
        let mut is_content = false;
        while let Ok(Some(line)) = lines.next_line().await {
            let reply: &[u8] = match line.split(' ').next().unwrap_or_default() {
                "." => {
                    is_content = false;
                    sleep(Duration::from_secs(to_content)).await;
                    b"250 OK\r\n"
                }
                _ if is_content => continue,
                "RCPT" => {
                    sleep(Duration::from_secs(to_recipient)).await;
                    b"250 OK\r\n"
                }
                "DATA" => {
                    is_content = true;
                    b"354 go on\r\n"
                }
                _ => b"250 OK\r\n",
            };
            if write.write_all(reply).await.is_err() {
                return;
            }
        }
    }

    /// The outcome of an e-mail, and after how many seconds.
    async fn sent(to_recipient: u64, to_content: u64) -> (Result<(), SendError>, u64) {
        let (ours, theirs) = duplex(1_024);
        let server = tokio::spawn(serve(theirs, to_recipient, to_content));
        let begun = Instant::now();
        let outcome = handed_over(ours).await;
        server.abort();
        (outcome, begun.elapsed().as_secs())
    }

    async fn handed_over(ours: DuplexStream) -> Result<(), SendError> {
        let stream = Box::new(Pipe(ours));
        let hello = ClientId::default();
        let connection = AsyncSmtpConnection::connect_with_transport(stream, &hello).await.unwrap();
        let [from, to] = ["mail@acme.example", "ada@mail.example"].map(|it| it.parse().unwrap());
        hand_over(connection, from, to, b"Subject: x\r\n\r\nHello\r\n").await
    }

    #[tokio::test]
    async fn a_connection_lost_after_the_content_is_no_outage_but_a_missing_reply() {
        for (last, expected) in [
            (".", SendError::Unanswered),
            ("RCPT", SendError::Unreachable(CLOSED.to_owned())),
            ("DATA", SendError::Unreachable(CLOSED.to_owned())),
        ] {
            let (ours, theirs) = duplex(1_024);
            tokio::spawn(close_at(theirs, last));
            assert_eq!(handed_over(ours).await, Err(expected), "{last}");
        }
    }

    #[tokio::test]
    async fn only_a_refusal_of_the_recipient_is_a_bounce() {
        for (at, reply, is_bounce) in [
            ("RCPT", "550 No such user\r\n", true),
            ("RCPT", "550 5.1.1 No such user\r\n", true),
            ("RCPT", "552 5.2.2 Mailbox full\r\n", true),
            ("RCPT", "554 5.7.1 Relay access denied\r\n", false),
            ("RCPT", "550 5.1.8 Bad address of the sender\r\n", false),
            ("RCPT", "451 4.3.0 Later\r\n", false),
            ("MAIL", "550 Sender not allowed\r\n", false),
            ("MAIL", "553 5.1.7 Bad sender\r\n", false),
            ("MAIL", "550 5.1.1 Unknown\r\n", false),
            ("DATA", "550 Rejected\r\n", false),
            (".", "550 Message rejected\r\n", false),
            (".", "550 5.1.1 No such user\r\n", true),
        ] {
            let (ours, theirs) = duplex(1_024);
            tokio::spawn(refuse_at(theirs, at, reply));
            let outcome = handed_over(ours).await.unwrap_err();
            let is_known = matches!(outcome, SendError::Bounced(_) | SendError::Delayed(_));
            assert!(is_known, "{at} {reply}: {outcome:?}");
            let bounced = matches!(outcome, SendError::Bounced(_));
            assert_eq!(bounced, is_bounce, "{at} {reply}: {outcome:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_has_ten_minutes_to_reply_to_the_content() {
        assert_eq!(sent(0, 0).await, (Ok(()), 0));
        assert_eq!(sent(0, 30).await, (Ok(()), 30));
        assert_eq!(sent(20, 599).await, (Ok(()), 619));
        assert_eq!(sent(0, 601).await, (Err(SendError::Unanswered), 600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_before_the_content_is_left_soon() {
        let (outcome, seconds) = sent(26, 0).await;
        assert_eq!((outcome, seconds), (Err(SendError::Unreachable(LATE.to_owned())), 25));
    }
}
