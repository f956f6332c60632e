//! Messages of the `gemm` plan are views: whatever is read is packed again to the same bytes.

use ckks::gemm::{
    AnswerBuffer, AnswerView, Epoch, GemmParameters, MaskProductsBuffer, MaskProductsView,
    UploadBuffer, UploadView, pack,
};
use ckks::{ParameterError, WireError};

/// The set that has the plan.
///
/// # Errors
/// Never; the name is a constant.
pub fn parameters() -> Result<GemmParameters, ParameterError> {
    GemmParameters::named("gemm-2048")
}

/// Reads an input as it is, as a body behind a right header, and as the start of a body that
/// continues with zeros to some lengths, among them those of one and two rows of mask products.
pub fn check(
    parameters: &GemmParameters,
    data: &[u8],
    rewrite: fn(&GemmParameters, &[u8]) -> Result<Vec<u8>, WireError>,
    header: &[u8],
) {
    canonical(parameters, data, rewrite);
    for len in [data.len(), 64, 256, 1024, 4096 + 16, 8192 + 16] {
        let mut body = data.to_vec();
        body.resize(len.max(data.len()), 0);
        let mut message = header.to_vec();
        let at = message.len() - 8;
        message[at..].copy_from_slice(&(body.len() as u64).to_le_bytes());
        message.extend(body);
        canonical(parameters, &message, rewrite);
    }
}

fn canonical(
    parameters: &GemmParameters,
    bytes: &[u8],
    rewrite: fn(&GemmParameters, &[u8]) -> Result<Vec<u8>, WireError>,
) {
    match rewrite(parameters, bytes) {
        Ok(again) => assert!(
            again == bytes,
            "a message of {} bytes is read but is not what its content is written to",
            bytes.len()
        ),
        // The text of an error is built from what was read; it must not fail either.
        Err(error) => drop(error.to_string()),
    }
}

/// An upload read and written again.
///
/// # Errors
/// Of the reader.
pub fn upload(parameters: &GemmParameters, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let view = UploadView::parse(parameters, bytes)?;
    let (features, columns) = (view.features() as u32, view.columns() as u32);
    let mut out = UploadBuffer::new(parameters, view.epoch(), features, columns)?;
    let row_len = out.row_len();
    let mut values = vec![0; view.columns()];
    for (row, bytes) in out.rows_mut().chunks_exact_mut(row_len).enumerate() {
        view.unpack(row, 0, &mut values);
        pack(&values, parameters.log_q(), bytes);
    }
    Ok(out.into_bytes())
}

/// An answer read and written again.
///
/// # Errors
/// Of the reader.
pub fn answer(parameters: &GemmParameters, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let view = AnswerView::parse(parameters, bytes)?;
    let (outputs, columns) = (view.outputs() as u32, view.columns() as u32);
    let mut out = AnswerBuffer::new(parameters, outputs, columns, view.bits())?;
    let row_len = out.row_len();
    let mut values = vec![0; view.columns()];
    for (row, bytes) in out.rows_mut().chunks_exact_mut(row_len).enumerate() {
        view.unpack(row, 0, &mut values);
        pack(&values, view.bits(), bytes);
    }
    Ok(out.into_bytes())
}

/// Mask products read and written again.
///
/// # Errors
/// Of the reader.
pub fn mask_products(parameters: &GemmParameters, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let view = MaskProductsView::parse(parameters, bytes)?;
    let outputs = view.outputs() as u32;
    let mut out = MaskProductsBuffer::new(parameters, view.epoch(), outputs, view.bits())?;
    let row_len = out.row_len();
    let mut values = vec![0; parameters.ring_degree()];
    for (row, bytes) in out.rows_mut().chunks_exact_mut(row_len).enumerate() {
        view.unpack(row, &mut values);
        pack(&values, view.bits(), bytes);
    }
    Ok(out.into_bytes())
}

/// The headers of the three messages, in that order.
///
/// # Errors
/// Never; the sizes are constants.
pub fn headers(parameters: &GemmParameters) -> Result<[Vec<u8>; 3], WireError> {
    let mut headers = [
        UploadBuffer::new(parameters, Epoch(0), 1, 1)?.into_bytes(),
        AnswerBuffer::new(parameters, 1, 1, 16)?.into_bytes(),
        MaskProductsBuffer::new(parameters, Epoch(0), 1, 16)?.into_bytes(),
    ];
    for header in &mut headers {
        header.truncate(ckks::wire::HEADER_LEN);
    }
    Ok(headers)
}
