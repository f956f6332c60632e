pub(crate) mod dom;
