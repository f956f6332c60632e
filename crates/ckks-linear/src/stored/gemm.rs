//! Layers of the `gemm` plan as bytes.

use super::StoredBytes;
use super::cursor::{Cursor, require_zero};
use super::error::StoredError;
use super::front::{ALIGNMENT, Form, Opened, begin};
use crate::error::expect_count;
use crate::gemm::{AnswerLength, GemmClient, GemmLayer, GemmManifest, PackedWeights, WeightScale};
use crate::shape::LayerShape;
use ckks::gemm::{Epoch, GemmParameters, MaskProductsView};

impl GemmLayer {
    /// The layer as bytes; `docs/prepared-weights.md` specifies them. As confidential as the
    /// weights.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let manifest = self.manifest();
        let mut head = Vec::new();
        for width in [manifest.shape.d_in(), manifest.shape.d_out()] {
            head.extend_from_slice(&(width as u32).to_le_bytes());
        }
        head.extend_from_slice(&manifest.epoch.0.to_le_bytes());
        for bits in [manifest.length.answer, manifest.length.mask_products] {
            head.extend_from_slice(&bits.to_le_bytes());
        }
        for weight in &manifest.weights {
            head.extend_from_slice(&weight.scale.to_le_bytes());
            head.extend_from_slice(&weight.norm.to_le_bytes());
        }
        let weights = self.weights().stored();
        let padding = weights.len().next_multiple_of(ALIGNMENT) - weights.len();
        let products = self.mask_products();
        let body = weights.len() + padding + products.len();
        let mut out = begin(Form::Gemm, manifest.digest, &head, body as u64);
        out.reserve_exact(body);
        out.extend_from_slice(weights);
        out.extend(std::iter::repeat_n(0, padding));
        out.extend_from_slice(products);
        out
    }

    /// The layer that bytes hold, for the parameters it was prepared for. It evaluates to the same
    /// bytes as the one that was encoded, with the fastest kernel of this machine.
    ///
    /// # Errors
    /// [`StoredError`] unless the bytes are exactly what some layer could be encoded to. Bytes that
    /// are so, but were tampered with, give wrong answers: have them sealed.
    pub fn decode<S: StoredBytes + ?Sized>(
        parameters: &GemmParameters,
        source: &S,
    ) -> Result<Self, StoredError> {
        let opened = Opened::read(Form::Gemm, source)?;
        let mut fields = Cursor(&opened.head);
        let (d_in, d_out) = (fields.size("input width")?, fields.size("output width")?);
        let shape = LayerShape::new(d_in, d_out)?;
        let epoch = Epoch(fields.u64("epoch")?);
        let length = AnswerLength {
            answer: fields.u32("bits of answers")?,
            mask_products: fields.u32("bits of W·A")?,
        };
        let mut numbers = fields.floats("scales and norms", 2 * d_out)?;
        let mut weights = Vec::with_capacity(d_out);
        while let (Some(scale), Some(norm)) = (numbers.next(), numbers.next()) {
            weights.push(WeightScale { scale, norm });
        }
        fields.end(ALIGNMENT)?;
        let manifest = GemmManifest {
            shape,
            digest: opened.digest,
            epoch,
            weights,
            length,
        };
        // What no client would accept is no layer.
        GemmClient::new(parameters, manifest.clone())?;
        let stored = PackedWeights::stored_len(d_in, d_out);
        let padded = stored.next_multiple_of(ALIGNMENT as u64);
        let Some(products_len) = opened.body_length.checked_sub(padded) else {
            return Err(StoredError::Truncated { field: "weights" });
        };
        let read = |offset, out: &mut [u8]| source.read(offset, out).map_err(StoredError::Read);
        let mut weights = PackedWeights::zero(d_in, d_out)?;
        read(opened.body, weights.stored_mut())?;
        let mut padding = [0; ALIGNMENT];
        let padding = &mut padding[..(padded - stored) as usize];
        read(opened.body + stored, padding)?;
        require_zero("padding after the weights", padding)?;
        if !weights.unused_are_zero() {
            return Err(StoredError::NotZero {
                field: "space of outputs that there are not",
            });
        }
        // Not more than there is.
        let mut products = vec![0; products_len as usize];
        read(opened.body + padded, &mut products)?;
        let view = MaskProductsView::parse(parameters, &products)?;
        expect_count("outputs of W·A", d_out, view.outputs())?;
        let bits = length.mask_products as usize;
        expect_count("bits of W·A", bits, view.bits() as usize)?;
        if view.epoch() != epoch {
            return Err(StoredError::Field {
                field: "epoch of W·A",
                found: view.epoch().0,
                expected: "it must be that of the layer",
            });
        }
        Ok(Self::assemble(
            parameters,
            manifest,
            weights,
            products.into(),
        ))
    }
}
