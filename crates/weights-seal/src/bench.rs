//! Measures sealing and opening on this machine, against what the machine does without
//! cryptography and against other programs.
//!
//! * [`spec`] says what is measured, [`measured`] what came out, [`record`] is everything together;
//! * [`cases`] are the measurements, [`run`] their rounds;
//! * [`worker`] are processes that measure on their own;
//! * [`page`] shows a record.

pub mod cases;
pub mod cipher;
pub mod cold_start;
pub mod facts;
mod huge;
pub mod load;
mod made_up;
pub mod measured;
pub mod options;
pub mod page;
pub mod peak;
pub mod peers;
pub mod record;
mod room;
pub mod run;
pub mod spec;
pub mod subject;
pub mod worker;
