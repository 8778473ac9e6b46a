//! Real failures of agents and tools, C01 to C40, as whole runs against a model server that checks each request as
//! the strictest ones do.
//!
//! What one turn shows is a row of `tables::cases` and `tables::provider`. Here is what needs more: whole histories,
//! later turns, journals, streams, secrets, and processes that die.

mod c01;
mod c02;
mod c03;
mod c04;
mod c05;
mod c06;
mod c07;
mod c08;
mod c18;
mod c26;
mod c27;
mod c38;
mod c39;
mod c40;
mod kit;
