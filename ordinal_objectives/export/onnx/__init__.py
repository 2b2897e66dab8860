"""An ONNX graph of a fitted classifier: columns -> trees -> probabilities -> decision."""
