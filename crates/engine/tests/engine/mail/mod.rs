//! E-mails: sent once, at the pace of the instance, tried again, and never to people who left.

mod closed;
mod endpoints;
mod invitations;
mod lanes;
mod outbound;
mod shop;
mod users;
