//! The corpus of `spec/wire` through the readers of this crate, without a connection.
//!
//! 1. What reaches the server according to the data is read here as the data says, and what is read can be read in one way only.
//! 2. What is refused here has a status that the data allows.
//! 3. How the bytes are split changes nothing: each case is read whole, byte by byte, and split in two at every byte.
//! 4. What becomes of each case is written down in `snapshots`, so that every change of it is seen.
//!
//! The whole gateway runs the same data over real sockets, where it is also shown what callers and servers get.

mod corpus;
mod judge;

mod answers;
mod requests;
